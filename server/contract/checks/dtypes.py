"""Checks of numerical robustness: other dtypes, critical and very large inputs, empty tensors."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch

from ....ops import Op
from ...inference.construction.op import InferredOp
from ...inference.recipe.recipe import TensorArgument
from ...numerics.formatting.numbers import format_number
from ...runtime.arguments import BoundFunction, ConstantArgument
from ...runtime.arrays import dtype_name
from ...runtime.failure import describe_exception
from ...runtime.rng import irregular_tensor
from ..examination.call import Call, ForwardRun
from ..examination.contract_check import MECHANICS, PRECISION, CheckFinding, contract_check
from ..examination.function_lines import BACKWARD_METHODS
from ..examination.session import CheckSession

# bound: tolerance of the gradient in each dtype, relative to the largest one.
HALF_TOLERANCES = {torch.float16: 5e-2, torch.bfloat16: 2e-1}
_TOLERANCES = {torch.float32: 1e-3, **HALF_TOLERANCES}
# sample: inputs tried in addition to the ends of the range: 0 and numbers close to it …
_CRITICAL = (0.0, 1e-12, -1e-12)
_LARGE = (1e2, -1e2, 1e4, -1e4)  # sample: … and large ones, in the range or not
# sample: how far off 0 a whole tensor is moved; bound: by what share outputs that do not jump may move with it.
_TINY, _JUMP = 1e-12, 1e-3
_MODERATE = 1e2  # bound: an input without a domain is not surprised by numbers up to this
_ADVICE_NEAR_0 = (
    "Replace unsafe values before dividing or taking a root: torch.where(x == 0, 1, x) on the input, not a mask on the "
    "result."
)
_ADVICE_FAR_OUT = (
    "Write the formula so that nothing in it overflows, as torch.sigmoid does: a mask on the result does not help."
)


@contract_check(
    "DTYPES",
    "Other dtypes",
    PRECISION,
    "float32, float16 and bfloat16 give the gradient of float64, as far as they can.",
)
def _dtypes(session: CheckSession) -> Iterator[CheckFinding]:
    plain, problems = session.first.gradients, list[str]()
    for dtype, most in _TOLERANCES.items():
        name = dtype_name(dtype)
        try:
            ran = session.call.run(dtype=dtype)
            given = {
                each: g.to(ran.outputs[each].dtype)
                for each, g in session.first.grad_outputs.items()
                if each in ran.moved
            }
            found = ran.gradients(given)
        except Exception as error:  # noqa: BLE001 a result
            problems.append(f"{name} raised {describe_exception(error)}")
            continue
        other = {dtype_name(out.dtype) for out in ran.moved.values()} - {name}
        problems += [f"{name} gives an output of {each}" for each in sorted(other)]
        off, broken = _relative_error(plain, found)
        if broken:
            problems.append(f"{name} gives a gradient that is not finite")
        elif off > most:
            problems.append(f"{name} is off by {format_number(100 * off)} %")
    if problems:
        yield CheckFinding("note", f"{'; '.join(problems)}.", "", "", None)


def _relative_error(plain: dict[str, torch.Tensor | None], found: dict[str, torch.Tensor | None]) -> tuple[float, bool]:
    """The largest error relative to the largest gradient, and whether a finite gradient became infinite or NaN."""
    off, broken = 0.0, False
    for name, true in plain.items():
        other = found.get(name)
        if true is None or other is None or true.is_complex() or true.shape != other.shape:
            continue
        finite = true.isfinite()
        broken |= bool((finite & ~other.isfinite()).any())
        scale = float(torch.where(finite, true, 0.0).abs().max()) if true.numel() else 0.0
        if scale and not broken:
            off = max(off, float(torch.where(finite, other.double() - true, 0.0).abs().max()) / scale)
    return off, broken


@contract_check(
    "NONFINITE",
    "Gradients that are not finite",
    MECHANICS,
    "Where forward is finite, so is the gradient.",
    ("backward", "deterministic"),
)
def _nonfinite(session: CheckSession) -> Iterator[CheckFinding]:
    """NaN where forward is finite is an error at numbers that the input may well have: no surrogate calls for it."""
    within = [x for x in _CRITICAL if session.reach[0] <= x <= session.reach[1]]
    places = (*within, *session.reach, *_LARGE)
    found = [*_scan(session, places)]
    if not any(math.isnan(each[-1]) and _is_usual(session, each[1], each[2]) for each in found):
        found += _scan(session, places, torch.float32)
    # Infinity may be right, and NaN far out may never be met.
    found.sort(key=lambda each: (not math.isnan(each[-1]), not _is_usual(session, each[1], each[2])))
    for place, name, x, value, gradient in found[:1]:
        nan = math.isnan(gradient)
        yield CheckFinding(
            "error" if nan and _is_usual(session, name, x) else "note",
            f"At {place} forward is {format_number(value)} and the gradient is {format_number(gradient)}.",
            "One NaN turns every parameter that it reaches into NaN."
            if nan
            else "It may be right, and still it ruins every parameter that it reaches.",
            (_ADVICE_NEAR_0 if abs(x) < 1 else _ADVICE_FAR_OUT) if nan else "",
            session.source.returned(),
            name,
        )


def _is_usual(session: CheckSession, name: str, x: float) -> bool:
    """Whether an input may well have this value: one in its domain, or a moderate one where any number will do."""
    op = session.section.op
    low, high = op.input(name).domain
    if name == session.section.wrt:
        low, high = min(low, session.reach[0]), max(high, session.reach[1])
    recipe = op.recipe if isinstance(op, InferredOp) else None
    free = recipe and any(
        isinstance(each, TensorArgument) and each.name == name and each.fill == "normal" for each in recipe.arguments
    )
    return low <= x <= high or (bool(free) and abs(x) <= _MODERATE)


def _scan(
    session: CheckSession, places: tuple[float, ...], dtype: torch.dtype | None = None
) -> Iterator[tuple[str, str, float, float, float]]:
    """Gradients that are not finite although the outputs are: where in words, input, its value, output, gradient.

    They are computed in ``dtype``, if that is given. The first element of each input is set to each of the places, and
    all elements to 0 if that is one of them.
    """
    for name, tensor in session.call.tensors.items():
        several = tensor.numel() > 1 and name not in session.call.stacked
        for x, everywhere in (
            *((x, not several) for x in places),
            *(((0.0, True),) if several and 0.0 in places else ()),
        ):
            moved = tensor.clone()
            moved.view(-1)[: None if everywhere else 1] = x
            try:
                ran = session.call.holding({name: moved}).run(dtype=dtype)
                finite = all(bool(out.isfinite().all()) for out in ran.outputs.values())
                finite &= not (several and everywhere and _jumps(session, name, moved, ran))
                found = ran.gradients({n: torch.ones_like(out) for n, out in ran.moved.items()}) if finite else {}
            except Exception:  # noqa: BLE001, S112 the Function refuses this input
                continue
            for gradient in found.values():
                if gradient is not None and not bool(gradient.isfinite().all()):
                    bad = gradient.reshape(-1)[~gradient.reshape(-1).isfinite()]
                    value = next(iter(ran.outputs.values())).detach().reshape(-1)[0]
                    place = f"every element of {name}" if everywhere and several else name
                    place = f"{place} = {format_number(x)}{f' in {dtype_name(dtype)}' if dtype else ''}"
                    yield place, name, x, float(value.real), float(bad[0].real)
                    break


def _jumps(session: CheckSession, name: str, zeros: torch.Tensor, ran: ForwardRun) -> bool:
    """Whether outputs jump where all elements move off 0, as the factors of a matrix do: no gradient is right there."""
    near = session.call.value(**{name: zeros + _TINY * irregular_tensor(zeros)})
    return any(
        bool(((near[each] - out.detach()).abs() > _JUMP * (1 + out.abs())).any()) for each, out in ran.moved.items()
    )


@contract_check("EMPTY", "Tensors without elements", PRECISION, "Empty tensors work.")
def _empty(session: CheckSession) -> Iterator[CheckFinding]:
    tensors = {name: t.new_zeros((0, *t.shape[1:])) for name, t in session.call.tensors.items() if t.dim()}
    if not tensors or _holds_elements(session.section.op):  # a tensor without a dimension is never empty
        return
    call: Call = session.call.holding(tensors)
    try:
        ran = call.run()
        ran.gradients(call.grad_outputs(ran)) if ran.moved else None
    except Exception as error:  # noqa: BLE001 a result
        yield CheckFinding(
            "note",
            f"With no elements at all it raised {describe_exception(error)}.",
            "",
            "Empty batches occur in practice, but need not always be supported.",
            session.source.line_of(error) or session.source.defined(*BACKWARD_METHODS),
        )


def _holds_elements(op: Op) -> bool:
    """Whether an index, which refers to elements of another tensor, stays whatever that is."""
    held = op.call.arguments if isinstance(op.call, BoundFunction) else ()
    tensors = [each for each in held if isinstance(each, ConstantArgument) and isinstance(each.value, torch.Tensor)]
    return any(not (each.value.is_floating_point() or each.beside) and each.value.numel() for each in tensors)


DTYPE_CHECKS = (_dtypes, _nonfinite, _empty)
