"""Recipes: the description of one call, its grammar as text, and the values its tensors are filled with.

How a recipe is found for a Function is in ``search``.
"""

from .grammar import parse_recipe
from .recipe import BadRecipe, Constant, NotInferred, Recipe, TensorArgument

__all__ = ["BadRecipe", "Constant", "NotInferred", "Recipe", "TensorArgument", "parse_recipe"]
