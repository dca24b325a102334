"""The row of the X-ray about other calls: in how many ways a Function was called, and which shows a wrong gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from ...ops import Op
from ..contract.examination.call import Call
from ..contract.examination.contract_check import GRADCHECK, CheckRow, Level
from ..inference.construction.complex_numbers import joined_tensors, real_values
from ..inference.construction.op import InferredOp
from ..inference.recipe.recipe import Constant, Recipe, TensorArgument
from ..inference.source.collect import collect_evidence
from ..inference.source.signature import signature_of
from ..runtime import timing
from ..runtime.arguments import callable_of, copy_if_mutable, real_outputs
from ..runtime.failure import describe_exception
from ..runtime.isolation import quietly
from ..runtime.timeouts import TookTooLong, time_limit
from .directional_check import DirectionalResult, compare_along_directions
from .single_precision import compare_in_float32
from .variants import CallVariant, call_variants

CHECK_ID = "OTHER-CALLS"
# Seconds for one call with its differences, and for all of them.
_CALL_SECONDS, _TOTAL_SECONDS = 0.5, 2.0
_MOST_NAMED = 3


@dataclass(frozen=True)
class _Tried:
    variant: CallVariant
    result: DirectionalResult


def other_calls_rows(op: Op) -> tuple[CheckRow, ...]:
    """What the other calls of an inferred op show, beside the one of its recipe; none for any other. Raises nothing."""
    if not isinstance(op, InferredOp) or op.recipe is None or op.called is None:
        return ()
    with quietly():
        tried = list(_tried(op, op.called, op.recipe))
    compared = [each for each in tried if not each.result.unknown]
    wrong = next((each for each in compared if each.result.wrong), None)
    if wrong is None:
        return (_row("fine" if compared else "note", _sentence(compared, tried)),)
    seen = f"Called with {wrong.variant.changed}, for {wrong.result.wrong}"
    count = sum(bool(each.result.wrong) for each in compared)
    torch_does = f"{count} of {len(compared)} other calls show a wrong gradient; the one that is shown does not."
    shown = wrong.variant.recipe.text()
    recipe = shown if shown != op.recipe.text() else ""
    advice = f"See it with the recipe `{recipe}`." if recipe else ""
    return (_row("error", seen, torch_does, advice, wrong.result.element, recipe),)


def _row(
    level: Level, seen: str, torch_does: str = "", advice: str = "", element: str = "", recipe: str = ""
) -> CheckRow:
    fields = (seen, torch_does, advice, None, GRADCHECK, element, recipe)
    return CheckRow(CHECK_ID, "Called in other ways", level, "Other calls", *fields)


def _sentence(compared: list[_Tried], tried: list[_Tried]) -> str:
    names = [each.variant.changed for each in compared]
    said = f"The gradient is right in {len(names)} other calls: {'; '.join(names)}." if names else ""
    missed = [f"{each.variant.changed} ({each.result.unknown})" for each in tried if each.result.unknown]
    more = f" and {len(missed) - _MOST_NAMED} more" if len(missed) > _MOST_NAMED else ""
    return f"{said} Not compared: {'; '.join(missed[:_MOST_NAMED])}{more}.".lstrip() if missed else said


def _tried(op: InferredOp, function: Callable[..., Any], recipe: Recipe) -> Iterator[_Tried]:
    until = timing.now() + _TOTAL_SECONDS
    for variant in call_variants(recipe, collect_evidence(signature_of(function)), op.recipe_given):
        left = until - timing.now()
        yield _Tried(variant, _compared(op, function, variant, left))


def _compared(op: InferredOp, function: Callable[..., Any], variant: CallVariant, left: float) -> DirectionalResult:
    if left <= 0:
        return DirectionalResult(unknown="there was no time left")
    try:
        with time_limit(min(left, _CALL_SECONDS)):
            call = _call(op, function, variant)
            return compare_in_float32(call) if variant.single else compare_along_directions(call)
    except TookTooLong as error:
        return DirectionalResult(unknown=f"it takes too long{error.place}")
    except Exception as error:  # noqa: BLE001 a call that cannot be made proves nothing
        return DirectionalResult(unknown=f"it raises {describe_exception(error)}")


def _call(op: InferredOp, function: Callable[..., Any], variant: CallVariant) -> Call:
    """The call of a variant, of the tensors that require grad; all others are held."""
    filled = variant.recipe.tensors(variant.seed)
    filled |= {name: one.detach() for name, one in op.given.items() if one.shape == filled[name].shape}
    names = [each.name for each in variant.recipe.inputs if variant.alone in ("", each.name)]
    real, moved = real_values(filled), real_values({name: filled[name] for name in names})
    layout = variant.layout or (lambda tensor: tensor)

    def callee(*given: torch.Tensor) -> Any:
        tensors = {name: one.to(given[0].dtype) if one.is_floating_point() else one for name, one in real.items()}
        tensors = joined_tensors(variant.recipe, tensors | dict(zip(moved, given, strict=True)))
        tensors |= {name: layout(tensors[name]) for name in names}
        return real_outputs(callable_of(function)(*(_value(each, tensors) for each in variant.recipe.arguments)))

    return Call(op, moved, {}, callee)


def _value(argument: TensorArgument | Constant, tensors: Mapping[str, torch.Tensor]) -> Any:
    return copy_if_mutable(argument.value) if isinstance(argument, Constant) else tensors[argument.name]
