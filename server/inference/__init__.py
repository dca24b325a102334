"""Infers how a Function is called (a recipe: dtypes, shapes and constants of its arguments) and makes an ``Op`` of it.

It judges no gradient: measuring and verdicts are in ``numerics``. How a user overrides the recipe is in ``user_code``.
"""
