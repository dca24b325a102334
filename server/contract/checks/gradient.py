"""Checks of the gradient against finite differences of forward, and by torch's gradcheck, a note where it fails."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from textwrap import shorten

import numpy as np
import torch
from torch.autograd.gradcheck import GradcheckError

from ...inference.source.name_hints import SYMMETRIC_NAME
from ...numerics.differentiation.finite_differences import PointKind, differentiate
from ...numerics.differentiation.scatter import most_explained, rises_over_stairs, slope_scatter
from ...numerics.formatting.numbers import describe_size, format_distinct, format_number, slope_share
from ...runtime.arrays import EPSILON, Array
from ...runtime.failure import describe_exception
from ...runtime.graph import declares_once
from ...runtime.rng import irregular_tensor
from ...runtime.timeouts import note_call_start
from ...runtime.user_call import call_user_code
from ...schema.views import NO_CAUSE
from ..examination.call import Call, GradientsByName, TensorsByName, reset_seeds
from ..examination.contract_check import GRADCHECK, CheckFinding, contract_check
from ..examination.session import CheckSession
from ..examination.slopes import TensorSlopes, function_along, tensor_slopes, total_of, weighted_total
from .causes import NO_MASK, cause_of
from .state import random_sources
from .surrogate import SURROGATE_SENTENCE, surrogate_explains

# budget: at how many elements a doubted gradient is measured again; the other, a sample, is the range around them.
_REMEASURED, _RANGE = 4, 0.05
_OTHER_SPAN = 0.37  # sample: the share of it that the second measurement of a slope takes
# sample: forward's jumps are looked for on so many random lines through all tensors, first so near and then so far.
_LINES, _NEAR, _WAY = 2, 1e-4, 0.5
# sample: how many draws tell chance from a wrong gradient; the other, a bound, is by how many standard errors.
_DRAWS, _CHANCE = 64, 5.0
_SMALL = "It is only a remark: torch's own special functions are off by as much, and float32 by more."
_STAIRS = "Forward moves in small stairs, as a bisection that stops; backward returned what it rises by over many."
_DIFFERS = "It is not the derivative of its surrogate either."
# sample: declared inputs are moved by 0.5 to 2 times this fraction of their domain, to irregular values.
_SPREAD = 0.02
# What reads one triangle of a matrix, and takes the other one to be the same.
_ONE_TRIANGLE = re.compile(r"\b(eigh|eigvalsh|cholesky\w*|lobpcg)\(")


@contract_check(
    "GRADIENT",
    "The gradient and the derivative",
    GRADCHECK,
    "The gradient is the derivative of forward.",
    ("backward", "deterministic"),
)
def _gradient(session: CheckSession) -> Iterator[CheckFinding]:
    """Every gradient equals finite differences of forward, at the inputs of the call and at others nearby.

    The input that is off by most is told first.
    """
    wrong, remarks, settled = dict[str, WrongElement](), list[WrongElement](), set[str]()
    for call, where, slopes, found in _calls(session):
        for name, measured in slopes:
            settled |= {name} if bool(measured.known.any()) or not measured.value.numel() else set()
            if name not in wrong and (
                seen := wrong_element(call, name, measured, found.get(name), session.first.grad_outputs)
            ):
                seen = replace(seen, sentence=f"{where}{'for' if where else 'For'} {seen.sentence}")
                if seen.remark:
                    remarks.append(seen)
                else:
                    wrong[name] = seen
    for each in sorted(wrong.values(), key=lambda one: -one.share):
        yield _finding(session, each)
    remarks.sort(key=lambda one: one.stairs)
    if remarks and not wrong:
        first, line = remarks[0], session.source.returned()
        said = _STAIRS if first.stairs else _SMALL
        yield CheckFinding("note" if first.stairs else "warning", first.sentence, "", said, line, first.element)
    if unknown := [each for each in session.slopes if each not in settled]:
        yield CheckFinding("note", f"Not compared for {', '.join(unknown)}: differences of forward do not converge.")


def _calls(session: CheckSession) -> Iterator[tuple[Call, str, Iterable[tuple[str, TensorSlopes]], GradientsByName]]:
    """The calls that are looked at: what to say of each, the slopes by its tensors, and what backward returned."""
    given = session.first.grad_outputs
    yield session.call, "", session.slopes.items(), session.first.gradients
    if other := _irregular_call(session):
        slopes = ((name, tensor_slopes(other, name, given)) for name in other.tensors)
        yield other, "At irregular numbers beside the declared ones: ", slopes, other.gradients(given)


def _finding(session: CheckSession, wrong: WrongElement) -> CheckFinding:
    """A note where the surrogate or another row says why; an error of this input, whatever is said of the others."""
    name, line = wrong.name, session.source.returned()
    if session.by_design:
        by_surrogate = surrogate_explains(session, name, session.first.gradients.get(name))
        return CheckFinding("note", wrong.sentence, "", SURROGATE_SENTENCE if by_surrogate else _DIFFERS, line)
    if name in session.explained:
        return CheckFinding("note", wrong.sentence, "", "Another row says why.", line)
    session.wrong.add(name)
    cause = cause_of(session, name)
    # What is saved for nothing may be the mask.
    session.explained.update([name] if cause and not cause.endswith(NO_MASK) else [])
    return CheckFinding(
        "error",
        wrong.sentence,
        "Nothing reports it: the engine delivers whatever backward returns.",
        cause or f"{NO_CAUSE} for {name} with the derivative of forward.",
        line,
        name if session.call.stacked else wrong.element,
    )


@dataclass(frozen=True)
class WrongElement:
    """The element of an input whose gradient is farthest from the slope of forward, and a ``sentence`` on it.

    ``share`` is by how much it is off, as a part of the slope; a small one is a ``remark``, and so is one where forward
    moves in small ``stairs``, and over many of them by what was returned.
    """

    name: str
    element: str
    sentence: str
    share: float
    remark: bool = False
    stairs: bool = False


def wrong_element(
    call: Call, name: str, measured: TensorSlopes, found: torch.Tensor | None, given: TensorsByName
) -> WrongElement | None:
    """The element farthest from the slope of forward; None if all are right."""
    if found is None or found.shape != measured.value.shape or found.is_complex():
        return None
    off = measured.doubts(found)
    if not bool(off.any()) or measured.of_a_triangle(found):
        return None
    apart, remark = torch.nan_to_num(found.detach() - measured.value, nan=torch.inf).abs(), None
    far = torch.where(off, torch.where(measured.remarks(apart, measured.value), 0.0, apart), -1.0).reshape(-1)
    for place in far.argsort(descending=True)[:_REMEASURED].tolist():
        if far[place] < 0:
            break
        slope, error = _slope_at(call, name, given, place)
        returned = float(found.detach().reshape(-1)[place])
        if np.isfinite(slope) and not abs(returned - slope) <= measured.allowed(slope, error):
            distance = abs(returned - slope)
            if distance <= most_explained(slope) and distance <= measured.allowed(slope, _scatter(call, given, slope)):
                continue
            stairs = _rises_over_stairs(call, name, given, place, slope, returned)
            if not stairs and _is_chance(call, name, given, place):
                return None
            at = ",".join(map(str, np.unravel_index(place, tuple(found.shape)))) if found.numel() > 1 else ""
            is_ = format_number(float(call.tensors[name].reshape(-1)[place]))
            element = f"{name}[{at}]" if at else name
            seen = (
                f"{element} = {is_} backward returned {format_distinct(returned, slope)}, "
                f"and the slope is {format_distinct(slope, returned)}"
                f"{describe_size(abs(returned - slope), slope, measured.largest)}."
            )
            share = slope_share(abs(returned - slope), slope, measured.largest)
            wrong = WrongElement(name, element, seen, np.inf if share is None else share, stairs=stairs)
            if not stairs and not bool(measured.remarks(torch.tensor(abs(returned - slope)), torch.tensor(slope))):
                return wrong
            remark = remark or replace(wrong, remark=True)
    return remark


def _scatter(call: Call, given: TensorsByName, slope: float) -> float:
    """How far off a slope by one element may be as forward jumps, on lines that move all elements of all tensors.

    A solver of many numbers stops for that which is slowest, whichever is moved.
    """
    found = []
    for seed in range(_LINES):
        directions = {name: irregular_tensor(held, seed) for name, held in call.tensors.items()}

        def along(way: Array, directions: TensorsByName = directions) -> Array:
            moved = ({name: held + t * directions[name] for name, held in call.tensors.items()} for t in way)
            return np.array([weighted_total(call.value(**each), given) for each in moved])

        try:
            found.append(slope_scatter(along, slope, _NEAR, _WAY))
        except Exception:  # noqa: BLE001 a domain ends there
            found.append(0.0)
    return max(found)


def _rises_over_stairs(call: Call, name: str, given: TensorsByName, place: int, slope: float, returned: float) -> bool:
    """Whether by one element forward moves in small stairs, and over many of them by what was returned."""
    held, at = call.tensors[name], np.array([place])
    along, x = function_along(total_of(call, name, given), held, at), float(held.reshape(-1)[place])
    try:
        return call.precision == EPSILON and rises_over_stairs(lambda way: along(x + way), slope, returned)
    except Exception:  # noqa: BLE001 a domain ends there
        return False


def _is_chance(call: Call, name: str, given: TensorsByName, place: int) -> bool:
    """Whether forward draws random numbers, and over many draws the gradient is the slope on average."""
    if not random_sources(call):
        return False
    held, at = call.tensors[name], np.array([place])
    off, bias = np.zeros((2, _DRAWS))
    for seed in range(_DRAWS):
        drawn = replace(call, seed=seed)
        x = float(held.reshape(-1)[place]) + _RANGE * np.array([1, -1, 2, -2])
        y = function_along(total_of(drawn, name, given), held, at)(x)
        near, far = (y[0] - y[1]) / (x[0] - x[1]), (y[2] - y[3]) / (x[2] - x[3])
        if (gradient := drawn.gradients(given)[name]) is not None:
            off[seed], bias[seed] = near - float(gradient.reshape(-1)[place]), far - near
    return bool(abs(off.mean()) <= _CHANCE * off.std() / np.sqrt(_DRAWS) + abs(bias.mean()))


def _slope_at(call: Call, name: str, given: TensorsByName, place: int) -> tuple[float, float]:
    """The slope by one element, measured as for the curves, and its error; NaN if it does not converge.

    It is measured with two steps: a slope is not known better than the two agree, as of a forward that iterates.
    """
    held = call.tensors[name]
    x, precision = float(held.reshape(-1)[place]), call.precision
    along, here = function_along(total_of(call, name, given), held, np.array([place])), np.array([x])
    span = (_RANGE if precision == EPSILON else 1.0) * max(1.0, abs(x))
    found, other = (
        differentiate(along, here, along(here), span * share, precision=precision) for share in (1.0, _OTHER_SPAN)
    )
    if found.kind[0] != PointKind.SMOOTH:
        return float("nan"), 0.0
    apart = abs(found.value[0] - other.value[0]) if other.kind[0] == PointKind.SMOOTH else 0.0
    return float(found.value[0]), float(max(found.error[0], apart))


def _irregular_call(session: CheckSession) -> Call | None:
    """The call at irregular inputs near the declared ones, which may be symmetric; None if the Function fails there."""
    if session.call.stacked:
        return None
    moved = {}
    for name, tensor in session.call.tensors.items():
        low, high = session.section.op.input(name).domain
        aside = _SPREAD * (high - low) * irregular_tensor(tensor, 37)
        moved[name] = tensor + ((aside + aside.mT) / 2 if _is_symmetric(session, name, tensor) else aside)
    call = session.call.holding(moved)
    try:
        found = call.gradients(session.first.grad_outputs)
        outputs = call.value().values()
    except Exception:  # noqa: BLE001 the Function does not take such inputs
        return None
    given = [each for each in (*outputs, *found.values()) if each is not None]
    same = [out.shape for out in outputs] == [out.shape for out in session.call.value().values()]
    return call if same and all(bool(each.isfinite().all()) for each in given) else None


def _is_symmetric(session: CheckSession, name: str, matrix: torch.Tensor) -> bool:
    """Whether a matrix is meant to be symmetric, not by chance: by its name, or as one triangle of it is read."""
    square = matrix.dim() > 1 and matrix.shape[-1] == matrix.shape[-2]
    meant = SYMMETRIC_NAME.search(name.lower()) or _ONE_TRIANGLE.search(session.section.op.source)
    return square and bool(meant) and torch.equal(matrix, matrix.mT)


GRADIENT_CHECKS = (_gradient,)
# budget: with more elements than this they run in fast mode, which tests one random direction.
_MAX_FULL_SIZE = 16
_MAX_LENGTH = 120  # budget: characters of what the checker says


def _run(checker: Callable[..., bool], name: str, session: CheckSession) -> Iterator[CheckFinding]:
    """Run a checker on the inputs of the call, which avoid the kinks of most Functions, with the seed fixed."""
    given = session.call.arguments()
    leaves = tuple(given.leaves.values())
    parameters = tuple(given.parameters.values())

    def call(*tensors: torch.Tensor) -> object:
        reset_seeds()
        note_call_start()
        found = call_user_code(session.call.callee, *(tensor * 1 for tensor in tensors), *parameters)
        return tuple(found) if isinstance(found, list) else found

    size = max(tensor.numel() for tensor in (*leaves, *session.first.ran.outputs.values())) if session.first.ran else 0
    mode = ", in its fast mode" if size > _MAX_FULL_SIZE else ""
    try:
        reset_seeds()
        note_call_start()
        call_user_code(checker, call, leaves, fast_mode=size > _MAX_FULL_SIZE)
    except GradcheckError as error:
        first = (str(error).strip().splitlines() or ["it does not say why"])[0].rstrip(" .,:;")
        yield CheckFinding(
            "note",
            f"{name} fails{mode}: {shorten(first, _MAX_LENGTH, placeholder=' …')}.",
            "",
            "It is a second opinion, and does not decide the verdict.",
            None,
        )
    except Exception as error:  # noqa: BLE001 a result
        yield CheckFinding(
            "note", f"{name} cannot run: it raised {describe_exception(error)}.", "", "", session.source.line_of(error)
        )


@contract_check("GRADCHECK", "torch.autograd.gradcheck", GRADCHECK, "gradcheck passes.")
def _gradcheck(session: CheckSession) -> Iterator[CheckFinding]:
    yield from _run(torch.autograd.gradcheck, "gradcheck", session)


@contract_check("GRADGRADCHECK", "torch.autograd.gradgradcheck", GRADCHECK, "gradgradcheck passes.")
def _gradgradcheck(session: CheckSession) -> Iterator[CheckFinding]:
    if declares_once(session.function):
        yield CheckFinding("note", "Not asked: backward declares that it must not be differentiated.")
        return
    yield from _run(partial(torch.autograd.gradgradcheck, gen_non_contig_grad_outputs=False), "gradgradcheck", session)


GRADCHECK_CHECKS = (_gradcheck, _gradgradcheck)
