"""The row of the X-ray about other calls: in how many ways a Function was called, and which shows a wrong gradient."""

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from ..contract.examination.call import Call
from ..contract.examination.contract_check import GRADCHECK, CheckRow, Level
from ..inference.construction.complex_numbers import joined_tensors, real_values
from ..inference.construction.op import InferredOp
from ..inference.recipe.recipe import OBJECT_TEXT, Constant, Recipe, TensorArgument
from ..inference.search.forward_effect import is_batch_of
from ..inference.source.collect import collect_evidence
from ..inference.source.function_source import source_tree
from ..inference.source.signature import signature_of
from ..numerics.tolerance import USUAL, Allowance
from ..protocol.listed import first_few, listed
from ..runtime import timing
from ..runtime.arguments import callable_of, copy_if_mutable, real_outputs
from ..runtime.arrays import largest_magnitude
from ..runtime.captured import captured_names, without_captured
from ..runtime.failure import describe_exception
from ..runtime.isolation import quietly
from ..runtime.kept_values import keep_values
from ..runtime.section import Section
from ..runtime.timeouts import TookTooLong, seconds_left, time_limit
from ..runtime.vjp import float64_array
from .declared import calls_of_declared
from .directional_check import DirectionalResult, compare_along_directions
from .given_dtypes import comparison_as, dtype_names, plain_forward
from .other_call import OtherCall
from .short_dtypes import comparison_in
from .ties import compare_at_ties
from .variants import CallVariant, Compared, call_variants
from .vmap_check import claims_vmap, compare_under_vmap

CHECK_ID = "OTHER-CALLS"
# Seconds for one call with its differences, and for all of them where there are as many left.
_CALL_SECONDS, _TOTAL_SECONDS = 0.5, 2.0
_MOST_NAMED = 3
_CASTS = {"to", "dtype", "type_as", "float", "half", "bfloat16"}


_COMPARISONS: dict[Compared, Callable[[Call], DirectionalResult]] = {
    "slopes": compare_along_directions,
    "float32": comparison_in(torch.float32),
    "float16": comparison_in(torch.float16),
    "vmap": compare_under_vmap,
}


@dataclass(frozen=True)
class _Tried:
    other: OtherCall
    result: DirectionalResult


def other_calls_rows(
    section: Section, wrong: Collection[str] = (), allowance: Allowance = USUAL
) -> tuple[CheckRow, ...]:
    """What calls other than that of a section show: of an inferred op beside its recipe, of one that declares its call
    or its surrogate within what it is called with; none of a specimen, or of a plain function. Raises nothing.

    ``wrong`` are the inputs whose gradient is wrong in the call of the section already. Of those it is told where it is
    no number, where backward raises, and where it depends on what does not change the numbers. Gradients may differ
    from slopes by the ``allowance``.
    """
    op = section.op
    inferred = isinstance(op, InferredOp) and op.claim == "exact"
    if inferred and (op.recipe is None or op.called is None):  # type: ignore[attr-defined]
        return ()
    with quietly():
        others = _calls_of_inferred(op, wrong) if inferred else calls_of_declared(section, wrong)  # type: ignore[arg-type]
        shown = Call.plain(section.at(torch.float64, "cpu"))
        common = {"allowance": allowance, **_known_of(shown)}
        tried = list(_tried(others, common))
        found = next((each for each in tried if each.result.wrong), None)
        as_shown = bool(wrong) or (found is not None and _shown_is_wrong(shown, common))
    if not tried:
        return ()
    rows = (_wrong(found, tried, as_shown) if found else None, _raising(tried))
    compared = [each for each in tried if not each.result.unknown]
    fine = _row("fine" if compared else "note", _sentence(compared, tried, wrong))
    return tuple(each for each in rows if each) or (fine,)


def _known_of(shown: Call) -> dict[str, float]:
    """What is known of the call that is shown: the precision of its forward, and the size of its gradients."""
    try:
        with time_limit(min(_CALL_SECONDS, seconds_left())):
            return {"known_precision": shown.precision, "known_gradient": _largest_gradient(shown)}
    except TookTooLong:
        return {}


def _largest_gradient(call: Call) -> float:
    """The largest finite number that backward returns; 0 where it raises."""
    try:
        found = call.gradients(call.grad_outputs(call.run()))
    except TookTooLong:
        raise
    except Exception:  # noqa: BLE001 told elsewhere
        return 0.0
    return max((largest_magnitude(float64_array(one)) for one in found.values() if one is not None), default=0.0)


def _shown_is_wrong(shown: Call, common: Mapping[str, Any]) -> bool:
    """Whether the call of the section, compared like the others, shows a wrong gradient as well."""
    return bool(_compared(OtherCall("", lambda: shown, compare_along_directions), _CALL_SECONDS, common).wrong)


def _wrong(found: _Tried, tried: list[_Tried], as_shown: bool) -> CheckRow:
    """The error of a call that shows a wrong gradient; ``as_shown`` says that the one that is shown has one, too."""
    seen = f"Called with {found.other.changed}, for {found.result.wrong}"
    compared = [each for each in tried if not each.result.unknown]
    count = sum(bool(each.result.wrong) for each in compared)
    shown = "" if as_shown else "; with the numbers of the one that is shown it is right"
    torch_does = f"{count} of {len(compared)} other calls show a wrong gradient{shown}."
    advice = f"See it with the recipe `{found.other.recipe}`." if found.other.recipe else ""
    return _row("error", seen, torch_does, advice, found.result.element, found.other.recipe)


def _raising(tried: list[_Tried]) -> CheckRow | None:
    """A call that forward takes and backward does not, if there is one: an error of one that the signature declares."""
    raising = sorted(
        (each for each in tried if each.result.raised and each.other.likely()), key=lambda each: not each.other.declared
    )
    if not raising:
        return None
    first = raising[0]
    seen = f"Called with {first.other.changed}, forward runs, and backward raises {first.result.raised}."
    advice = f"See it with the recipe `{first.other.recipe}`." if first.other.recipe else ""
    return _row("error" if first.other.declared else "warning", seen, "", advice, "", first.other.recipe)


def _row(
    level: Level, seen: str, torch_does: str = "", advice: str = "", element: str = "", recipe: str = ""
) -> CheckRow:
    fields = (seen, torch_does, advice, None, GRADCHECK, element, recipe)
    return CheckRow(CHECK_ID, "Called in other ways", level, "Other calls", *fields)


def _sentence(compared: list[_Tried], tried: list[_Tried], wrong: Collection[str]) -> str:
    names = [each.other.changed + f" ({each.result.said})" * bool(each.result.said) for each in compared]
    of = f" but for {listed(sorted(wrong))}, which is told apart," if wrong else ""
    said = f"The gradient{of} is right in {len(names)} other calls: {'; '.join(names)}." if names else ""
    missed = [f"{each.other.changed} ({each.result.unknown})" for each in tried if each.result.unknown]
    return f"{said} Not compared: {first_few(missed, _MOST_NAMED, '; ')}.".lstrip() if missed else said


def _tried(others: Iterable[OtherCall], common: Mapping[str, Any]) -> Iterator[_Tried]:
    until = timing.now() + min(_TOTAL_SECONDS, seconds_left())
    for each in others:
        yield _Tried(each, _compared(each, until - timing.now(), common))


def _compared(other: OtherCall, left: float, common: Mapping[str, Any]) -> DirectionalResult:
    """What a call shows that has these fields in ``common`` with the one that is shown."""
    if left <= 0:
        return DirectionalResult(unknown="there was no time left")
    try:
        with time_limit(min(left, _CALL_SECONDS)):
            return other.compare(replace(other.call(), **common))
    except TookTooLong as error:
        return DirectionalResult(unknown=f"it takes too long{error.place}")
    except Exception as error:  # noqa: BLE001 a call that cannot be made proves nothing
        return DirectionalResult(unknown=f"it raises {describe_exception(error)}")


def _calls_of_inferred(op: InferredOp, wrong: Collection[str]) -> Iterator[OtherCall]:
    assert op.called is not None
    assert op.recipe is not None
    evidence, shown = collect_evidence(signature_of(without_captured(op.called))), op.recipe.text()
    captured = captured_names(op)
    if op.dtypes:
        changed = f"its tensors as they were given, in {dtype_names(op.dtypes)}"
        given = CallVariant(op.recipe, changed, compared="dtypes")
        yield OtherCall(
            given.changed, partial(_call, op, op.called, given), _as_dtypes(op, given, op.dtypes), declared=True
        )
    for each in call_variants(op.recipe, evidence, op.recipe_given, captured):
        if (each.compared == "vmap" and not claims_vmap(op.function)) or (each.tied and (op.given or wrong)):
            continue
        text = each.recipe.text()
        sayable = text != shown and not captured and not (each.declared and OBJECT_TEXT in text)
        call, recipe = partial(_call, op, op.called, each), text if sayable else ""
        # Tensors of different dtypes are meant where forward casts by itself.
        if (mixed := each.compared == "dtypes") and not _casts(op):
            continue
        declared = each.declared or mixed
        likely = partial(_is_likely, op, each)
        yield OtherCall(each.changed, call, _comparison(op, each, wrong), recipe, likely, declared)


def _is_likely(op: InferredOp, variant: CallVariant) -> bool:
    """Whether others call it so, too: it is declared, or takes tensors of the same ranks, or a batch of them.

    The elements of a batch are called with the constants of the batch.
    """
    if variant.declared or variant.compared == "dtypes":
        return True
    assert op.called is not None
    assert op.recipe is not None
    if variant.layout is not None or _ranks(variant.recipe) == _ranks(op.recipe):
        return variant.layout is None
    both = zip(op.recipe.arguments, variant.recipe.arguments, strict=False)
    element = replace(op.recipe, arguments=tuple(their if isinstance(their, Constant) else own for own, their in both))
    return is_batch_of(callable_of(op.called), variant.recipe, element)


def _comparison(op: InferredOp, variant: CallVariant, wrong: Collection[str]) -> Callable[[Call], DirectionalResult]:
    """How the gradients of a variant are compared: those that are wrong anyhow with the same numbers called plainly."""
    if variant.tied:
        return compare_at_ties
    if variant.compared == "dtypes":
        return _as_dtypes(op, variant, {each.name: getattr(torch, each.dtype) for each in variant.recipe.inputs})
    layout = variant.layout
    if variant.compared != "slopes" or not (wrong or layout):
        return _COMPARISONS[variant.compared]
    plainly = replace(variant, alone="", layout=layout and (lambda tensor: layout(tensor).contiguous()))
    assert op.called is not None
    like = _call(op, op.called, plainly) if variant.alone or layout else None
    if not wrong:
        return lambda call: compare_along_directions(call, plain=like)
    names = [name for name in _call(op, op.called, variant).tensors if name not in wrong]
    return lambda call: compare_along_directions(call, names=names, like=like)


def _casts(op: InferredOp) -> bool:
    """Whether forward casts a tensor, or reads its dtype."""
    tree = source_tree(getattr(op.function, "forward", op.function))
    return tree is not None and any(isinstance(each, ast.Attribute) and each.attr in _CASTS for each in ast.walk(tree))


def _as_dtypes(
    op: InferredOp, variant: CallVariant, dtypes: Mapping[str, torch.dtype]
) -> Callable[[Call], DirectionalResult]:
    """A comparison with float64 of inputs that have these dtypes, by what plain autograd is off by."""
    plain = plain_forward(op.called)
    return comparison_as(dtypes, _call(op, plain, variant) if plain else None)


def _ranks(recipe: Recipe) -> list[int]:
    return [len(each.shape) for each in recipe.arguments if isinstance(each, TensorArgument)]


def _call(op: InferredOp, function: Callable[..., Any], variant: CallVariant) -> Call:
    """The call of a variant, of the tensors that require grad; all others are held."""
    filled = variant.recipe.tensors(variant.seed)
    filled |= {name: one.detach() for name, one in op.given.items() if one.shape == filled[name].shape}
    if variant.ignored:
        name, index = variant.ignored
        filled[name] = filled[name].clone()
        filled[name].view(-1)[0] = index
    names = [each.name for each in variant.recipe.inputs if variant.alone in ("", each.name)]
    if variant.tied:
        filled |= variant.tied({name: filled[name] for name in names})
    real, moved = real_values(filled), real_values({name: filled[name] for name in names})
    layout = variant.layout or (lambda tensor: tensor)

    def callee(*given: torch.Tensor) -> Any:
        tensors = {name: one.to(given[0].dtype) if one.is_floating_point() else one for name, one in real.items()}
        tensors = joined_tensors(variant.recipe, tensors | dict(zip(moved, given, strict=True)))
        tensors |= {name: keep_values(tensors[name], kept) for name, kept in op.kept.items()}
        tensors |= {name: layout(tensors[name]) for name in names}
        return real_outputs(callable_of(function)(*(_value(each, tensors) for each in variant.recipe.arguments)))

    return Call(op, moved, {}, callee)


def _value(argument: TensorArgument | Constant, tensors: Mapping[str, torch.Tensor]) -> Any:
    return copy_if_mutable(argument.value) if isinstance(argument, Constant) else tensors[argument.name]
