"""Checks of what backward does with its cotangent, ``grad_output``: never edited in place, any memory layout accepted,
linear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from ...numerics.formatting.numbers import format_number
from ...numerics.sentences.names import complex_part, section_names
from ...numerics.sentences.violation_sentence import describe_violation
from ...protocol.listed import listed
from ...runtime.failure import describe_exception
from ...runtime.rng import irregular_tensor
from ...runtime.vjp import Layout, expanded, strided, swapped, transposed
from ..examination.call import Call, GradientsByName, TensorsByName
from ..examination.contract_check import EXTENDING, MECHANICS, CheckFinding, contract_check
from ..examination.function_lines import BACKWARD_METHODS
from ..examination.session import CheckSession, gradients_close
from .surrogate import SURROGATE_SENTENCE, follows_surrogate

_LARGER = 1024.0  # sample: the factor of a larger grad_output; a power of two, which rounds nothing


@contract_check("GRADOUT-INPLACE", "Writing to grad_output", EXTENDING, "backward leaves grad_output as it is.")
def _gradout_inplace(session: CheckSession) -> Iterator[CheckFinding]:
    backward = session.first.backward
    written = backward.written if backward else ()
    found = session.laws.at("untouched")
    if not written and not found:
        return
    if written and backward:
        place = written[0]
        name = session.source.parameter(1 + place, *BACKWARD_METHODS) or "grad_output"
        then, now = backward.copies[place], backward.grad_outputs[place]
        seen = _change(name, then, now)
    else:
        name = session.source.parameter(1, *BACKWARD_METHODS) or "grad_output"
        seen = describe_violation(found, section_names(session.section)) if found else ""
    yield CheckFinding(
        "error",
        seen,
        "That tensor belongs to the engine. After y.sum() all of its elements share one number in memory, so writing "
        "to one writes to all.",
        f"Write to a copy: {name}.clone().",
        session.source.edited(name, *BACKWARD_METHODS) or session.source.defined(*BACKWARD_METHODS),
    )


@contract_check("INPUT-INPLACE", "Writing to an input", MECHANICS, "backward leaves the inputs as they are.")
def _input_inplace(session: CheckSession) -> Iterator[CheckFinding]:
    written = session.called_by_forward(session.first.edited_late)
    if written:
        name = (sorted(session.source.unpacked() & {*written}) or written)[0]
        yield CheckFinding(
            "error",
            f"backward writes to {listed(written)}, which forward was given.",
            "The tensor of the caller changes, and what is computed from it later has a wrong gradient.",
            f"Write to a copy: {name}.clone().",
            session.source.edited(name, *BACKWARD_METHODS) or session.source.defined(*BACKWARD_METHODS),
        )


@contract_check(
    "GRADOUT-STRIDES",
    "Memory layout of grad_output",
    MECHANICS,
    "The gradient does not depend on the strides of grad_output.",
    ("backward", "deterministic"),
)
def _gradout_strides(session: CheckSession) -> Iterator[CheckFinding]:
    if "GRADOUT-INPLACE" in session.broken:
        yield CheckFinding("note", "backward writes to grad_output, so other memory layouts cannot be tried.")
        return
    if parts := [name for name in session.first.grad_outputs if complex_part(name)[1]]:
        whole = complex_part(parts[0])[0]
        yield CheckFinding(
            "note", f"Not tried: {whole} is complex, and its grad_output is put together from two parts."
        )
        return
    for call in _shaped(session):
        for layouts, how in _LAYOUTS.items():
            if (found := _laid(session, call, layouts, how)) is not None:
                yield found
                return
    if found_law := session.laws.at("layout"):
        yield _astray(session, describe_violation(found_law, section_names(session.section)))


_LAYOUTS: dict[Layout, str] = {
    expanded: "one number stands for all elements, as after y.sum()",
    strided: "it is every other element of a longer tensor, as a slice or a column is",
    transposed: "it is transposed, as after y.T",
    swapped: "its first two dimensions are swapped, as after y.transpose(0, 1)",
}


def _laid(session: CheckSession, call: Call, laid: Layout, how: str) -> CheckFinding | None:
    """The finding for one memory layout of all grad_outputs, None if there is none."""
    try:
        ran = call.run()
        dense_ones = {
            name: torch.full_like(out, 0.75) if laid is expanded else irregular_tensor(out)
            for name, out in ran.moved.items()
        }
        if not all(given.numel() for given in dense_ones.values()):
            return None
        plain = ran.gradients(dense_ones)
    except Exception:  # noqa: BLE001 the Function does not take this shape
        return None
    try:
        ran = call.run()
        found = ran.gradients({name: laid(given) for name, given in dense_ones.items()})
    except Exception as error:  # noqa: BLE001 a result
        return _astray(
            session, f"Where {how}, backward raised {describe_exception(error)}.", session.source.line_of(error)
        )
    name = next((name for name in plain if not gradients_close(plain[name], found[name])), None)
    if name is None:
        return None
    return _astray(session, f"Where {how}, the gradient of {name} is different for the same grad_output.")


def _astray(session: CheckSession, seen: str, line: int | None = None) -> CheckFinding:
    return CheckFinding(
        "error",
        seen,
        "A grad_output need not lie in memory one number after another.",
        "Use reshape in place of view, and contiguous() before memory is read directly.",
        line or session.source.called("view", *BACKWARD_METHODS) or session.source.returned(),
    )


def _shaped(session: CheckSession) -> Iterator[Call]:
    """The call as it is; for an elementwise Function also with its numbers as a matrix of two rows, for one of matrices
    with two of them in place of the first, as a batch.
    """
    yield session.call
    name, first = next(iter(session.call.tensors.items()))
    if first.dim() == 2 and first.numel() and not session.call.stacked:
        yield session.call.holding({name: torch.stack((first, 1.5 * first))})
    if session.call.stacked and all(tensor.dim() < 2 for tensor in session.call.tensors.values()):
        yield session.call.holding({name: session.call.tensors[name].reshape(2, -1) for name in session.call.stacked})


@contract_check(
    "NONLINEAR", "Linear in grad_output", MECHANICS, "backward is linear in grad_output.", ("backward", "deterministic")
)
def _nonlinear(session: CheckSession) -> Iterator[CheckFinding]:
    broken = [each for each in session.laws.findings if each.law in _LAWS]
    if broken:
        name = session.section.wrt.partition("[")[0]
        seen = describe_violation(broken[0], section_names(session.section))
    else:
        name, seen = _broken_law(session)
    if not seen:
        return
    declared = follows_surrogate(session)
    yield CheckFinding(
        "note" if declared else "error",
        f"{seen} {SURROGATE_SENTENCE}" if declared else seen,
        "The engine adds up the gradients of all paths: if backward is not linear, the sum depends on their order "
        "and size.",
        "" if declared else "Every term of a gradient has grad_output as a factor, once.",
        session.source.returned(),
        explains=(name,),
    )


_LAWS = ("zero", "odd", "scales", "adds", "mixes")


def _broken_law(session: CheckSession) -> tuple[str, str]:
    """The first violation of linearity over all outputs at once: the input and a sentence; empty if there is none."""
    one, other = (
        session.first.grad_outputs,
        {name: irregular_tensor(g, 71) for name, g in session.first.grad_outputs.items()},
    )
    of_one, of_other = session.gradients(one), session.gradients(other)
    laws: tuple[tuple[str, TensorsByName, GradientsByName], ...] = (
        ("returns something for grad_output 0", _each(one, lambda t: 0 * t), _of(of_one, lambda t: 0 * t)),
        ("depends on the sign of grad_output", _each(one, torch.neg), _of(of_one, torch.neg)),
        (
            "returns no more for a larger grad_output",
            _each(one, lambda t: _LARGER * t),
            _of(of_one, lambda t: _LARGER * t),
        ),
        (
            "returns no less for a smaller grad_output",
            _each(one, lambda t: t / _LARGER),
            _of(of_one, lambda t: t / _LARGER),
        ),
        (
            "is not additive: for a sum of grad_outputs it does not return the sum of the gradients",
            {name: one[name] + other[name] for name in one},
            _sum(of_one, of_other),
        ),
    )
    eps = 2 * session.call.precision
    for what, given, expected in laws:
        found = session.gradients(given)
        name = next((name for name in found if not _near(found[name], expected[name], eps)), None)
        if name is not None:
            numbers = f"{_largest(found[name])} where {_largest(expected[name])} is required"
            return name, f"backward {what}: for {name} it returned {numbers}."
    return "", ""


def _each(given: TensorsByName, what: Callable[[torch.Tensor], torch.Tensor]) -> TensorsByName:
    return {name: what(each) for name, each in given.items()}


def _of(given: GradientsByName, what: Callable[[torch.Tensor], torch.Tensor]) -> GradientsByName:
    return {name: None if each is None else what(each) for name, each in given.items()}


def _sum(some: GradientsByName, others: GradientsByName) -> GradientsByName:
    summed: GradientsByName = {}
    for name, one in some.items():
        other = others[name]
        summed[name] = one if other is None else other if one is None else one + other
    return summed


def _near(found: torch.Tensor | None, expected: torch.Tensor | None, eps: float) -> bool:
    """Close where both are finite: overflow and division by 0 are no violations."""
    if found is None or expected is None:
        return gradients_close(found, expected)
    finite = found.isfinite() & expected.isfinite()
    return gradients_close(torch.where(finite, found, 0), torch.where(finite, expected, 0), eps)


def _largest(found: torch.Tensor | None) -> str:
    if found is None or not found.numel():
        return "nothing"
    flat = torch.nan_to_num(found.detach().reshape(-1))
    value = flat[int(flat.abs().argmax())]
    return format_number(float(value.real if value.is_complex() else value))


def _change(name: str, then: torch.Tensor | None, now: torch.Tensor | None) -> str:
    said_so = f"backward writes to {name}, which belongs to autograd and may be used elsewhere"
    if then is None or now is None or then.shape != now.shape or not then.numel():
        return f"{said_so}."
    far = torch.nan_to_num((now.detach() - then).abs().reshape(-1))
    row = int(far.argmax())
    if not float(far[row]) or then.is_complex():
        return f"{said_so}."
    was, is_ = (format_number(float(each.reshape(-1)[row])) for each in (then, now))
    return f"{said_so}: what was {was} is {is_} afterwards."


COTANGENT_CHECKS = (_gradout_inplace, _input_inplace, _gradout_strides, _nonlinear)
