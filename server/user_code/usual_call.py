"""How a Function is called where nobody asks for another call, and what a verdict has to say of that: the declared
defaults that it leaves, callables of our own in it, and a likelier call it is not; and whether the scalar inputs of a
declared op are 0-dimensional tensors or a vector.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from textwrap import shorten
from typing import Any

import torch

from ...ops import Op
from ..inference.infer import InferredRecipe, infer
from ..inference.recipe.recipe import Constant, Recipe, TensorArgument, literal, name_of_value
from ..inference.source.signature import LEFT_OUT, NO_DEFAULT, SignatureArgument, signature_of
from ..runtime.arguments import BoundFunction, PassedArgument, returned_values
from ..runtime.isolation import quietly
from ..runtime.user_call import call_user_code
from ..runtime.vjp import pull_back
from ..schema.op import OpDescription
from .example_inputs import Override, reasons

_MAX_LENGTH = 160  # of what backward raises
_Sentences = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class UsualCall:
    """A recipe, the reason for each argument that is ``assumed``, the declared defaults that it has ``left``, and a
    sentence on a likelier one that only backward fails in.

    ``written`` says that it stands in the user's file; ``made_up`` are the arguments that are callables of our own,
    ``doubt`` is what says that another call is meant, and ``given`` are the tensors of it.
    """

    recipe: Recipe
    assumed: _Sentences = ()
    left: _Sentences = ()
    written: bool = False
    passed_over: str = ""
    made_up: tuple[str, ...] = ()
    doubt: str = ""
    given: Mapping[str, torch.Tensor] = field(default_factory=dict)

    def tell(self, description: OpDescription) -> None:
        """Say in a description what there is to say of this call."""
        description["assumed"], description["left"] = list(self.assumed), list(self.left)
        description["passed_over"], description["doubt"] = self.passed_over, self.doubt
        description["made_up"] = list(self.made_up)

    def changed(self, recipe: Recipe, names: Collection[str]) -> UsualCall:
        """The same with this recipe, in which somebody has said the arguments of these ``names``."""
        assumed, left = (tuple(each for each in some if each[0] not in names) for some in (self.assumed, self.left))
        made_up = tuple(name for name in self.made_up if name not in names)
        same = {"passed_over": self.passed_over, "doubt": self.doubt} if recipe == self.recipe else {}
        return UsualCall(recipe, assumed, left, self.written, made_up=made_up, given=self.given, **same)


def found_call(function: Any) -> UsualCall:
    """The call that is found out; raises ``NotInferred``."""
    guess = infer(function)
    left, made_up = _left_defaults(function, guess.recipe), _made_up_callables(function, guess.recipe)
    return UsualCall(guess.recipe, guess.because, left, False, _passed_over_sentence(guess), made_up, guess.doubt)


def written_call(function: Any, override: Override) -> UsualCall:
    """The call that somebody has written down."""
    recipe = override.recipe
    left = _left_defaults(function, recipe) if recipe.like else ()
    return UsualCall(recipe, reasons(recipe, override.where), left, written=True, given=override.given)


def _passed_over_sentence(guess: InferredRecipe) -> str:
    """The sentence on a likelier call that only backward fails in; empty where there is none."""
    recipe, raised = guess.passed_over
    said = shorten(raised, _MAX_LENGTH, placeholder=" …").rstrip(".")
    return f"forward runs with `{recipe}`, and backward raises {said}." if recipe else ""


def _made_up_callables(function: Any, recipe: Recipe) -> tuple[str, ...]:
    """The arguments of an inferred recipe that are callables of our own: neither declared, nor given by the user."""
    defaults = {each.name: each.default for each in signature_of(function).arguments}
    constants = [each for each in recipe.arguments if isinstance(each, Constant)]
    return tuple(each.name for each in constants if callable(each.value) and each.value is not defaults.get(each.name))


def _left_defaults(function: Any, recipe: Recipe) -> _Sentences:
    """The arguments that a recipe gives another value than their declared default, each with a sentence.

    A tensor in the place of None or of a tensor leaves nothing: it is one more input to look at, and the default is
    among the other calls; nor does the CPU for a GPU.
    """
    given = {each.name: each for each in recipe.arguments}
    return tuple(
        (each.name, _sentence(each.name, given[each.name], each.default))
        for each in signature_of(function).arguments
        if each.name in given and _leaves(each, given[each.name])
    )


def _leaves(argument: SignatureArgument, given: Constant | TensorArgument) -> bool:
    default = argument.default
    if argument.star or default is NO_DEFAULT or default is LEFT_OUT or str(default).startswith("cuda"):
        return False
    if isinstance(given, TensorArgument):
        return default is not None and not isinstance(default, torch.Tensor)
    return given.value is not default and _text(given.value) != _text(default)


def _sentence(name: str, given: Constant | TensorArgument, default: Any) -> str:
    called = f"{name} = {_text(given.value)}" if isinstance(given, Constant) else f"the tensor {given.text}"
    return f"That is with {called}: no call was found with the declared default of {name}, {_text(default)}."


def _text(value: Any) -> str:
    """A value as a recipe writes it; a number without the zeros that tell a float from an int."""
    return name_of_value(value) or literal(value).removesuffix(".0")


def with_scalar_inputs(op: Op) -> Op:
    """The op, with its scalar inputs passed in the shape that its Function works with.

    Where it can, a scalar input is passed as a vector, so that many points travel in one call. It is a 0-dimensional
    tensor beside inputs that have dimensions, and where forward or backward fails otherwise. An op that is declared to
    be broken stays as it is. Raises nothing.
    """
    scalars = tuple(each.name for each in op.inputs if not each.shape)
    if op.broken:
        return op
    if len(scalars) == len(op.inputs):
        candidates = dict.fromkeys(((), *((name,) for name in scalars), scalars))
        with quietly():
            scalars = next((names for names in candidates if _runs_with(op, names)), ())
    if not scalars:
        return op
    inputs = tuple(PassedArgument(place, each.name in scalars) for place, each in enumerate(op.inputs))
    parameters = tuple(PassedArgument(len(inputs) + place) for place in range(len(op.parameters)))
    return replace(op, call=BoundFunction(op.call or op.function, (*inputs, *parameters)))


def _runs_with(op: Op, scalars: tuple[str, ...]) -> bool:
    """Whether forward and backward run with these inputs as 0-dimensional tensors."""
    leaves = [
        torch.tensor(each.values, dtype=getattr(torch, op.dtype))
        .reshape(() if each.name in scalars else each.shape or (1,))
        .requires_grad_()
        for each in op.inputs
    ]
    try:
        y = call_user_code(op, *(leaf * 1 for leaf in leaves), *(each.default for each in op.parameters))
        outputs = [each for each in returned_values(y) if getattr(each, "requires_grad", False)]
        pull_back(outputs, [torch.ones_like(each) for each in outputs], leaves)
    except (Exception, SystemExit):  # noqa: BLE001 where every way fails, the section reports it
        return False
    return True
