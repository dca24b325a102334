"""Checks of randomness, determinism and hidden state: equal calls give equal results, whatever is called in between."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from ...numerics.tolerance import tolerance_for
from ...protocol.listed import listed
from ...runtime.failure import describe_exception
from ...runtime.rng import GeneratorStates
from ...runtime.user_call import call_user_code
from ..examination.call import Call, reset_seeds
from ..examination.contract_check import EXTENDING, FUNCTION, REPRODUCIBILITY, CheckFinding, contract_check
from ..examination.function_lines import BACKWARD_METHODS, FORWARD_METHODS
from ..examination.recorder import same_elements
from ..examination.session import (
    CheckSession,
    all_gradients_close,
    differing_gradients,
    farthest_elements,
    gradients_close,
)


def random_sources(call: Call) -> tuple[str, ...]:
    """The names of the libraries whose random generator forward uses. Raises what forward raises."""
    given = call.arguments()
    reset_seeds()
    before = GeneratorStates.now()
    call_user_code(call.callee, *given.arguments)
    return before.changed()


@contract_check(
    "RANDOM-FORWARD", "Random numbers in forward", REPRODUCIBILITY, "forward draws no random numbers.", ("forward",)
)
def _random_forward(session: CheckSession) -> Iterator[CheckFinding]:
    if libraries := random_sources(session.call):
        yield CheckFinding(
            "note",
            f"forward draws random numbers of {listed(libraries)}.",
            "Two calls give two outputs.",
            "Differences use the same numbers on either side of x: they measure the slope of one draw.",
            session.source.drawn(*FORWARD_METHODS),
        )


@contract_check("RANDOM-BACKWARD", "Random numbers in backward", REPRODUCIBILITY, "backward draws no random numbers.")
def _random_backward(session: CheckSession) -> Iterator[CheckFinding]:
    ran = session.call.run()
    grad_outputs = session.handed
    before = GeneratorStates.now()
    ran.gradients(grad_outputs)
    if libraries := before.changed():
        yield CheckFinding(
            "warning",
            f"backward draws random numbers of {listed(libraries)}.",
            "The same loss has a different gradient every time.",
            "Draw in forward and save what was drawn, or declare that the noise is intended.",
            session.source.drawn(*BACKWARD_METHODS),
        )


@contract_check(
    "STATEFUL-FORWARD", "State in forward", FUNCTION, "Called twice alike, forward returns the same.", ("forward",)
)
def _stateful_forward(session: CheckSession) -> Iterator[CheckFinding]:
    one, other = session.call.run(), session.call.run()
    for name, out in one.outputs.items():
        again = other.outputs.get(name)
        if again is None or not same_elements(out.detach(), again.detach()):
            was, is_ = ("there", "gone") if again is None else farthest_elements(out, again)
            yield CheckFinding(
                "warning",
                f"Called twice with the same input and random numbers, {name} is {was} and then {is_}.",
                "",
                "Keep no state between calls: what forward returns should follow from its arguments.",
                session.source.defined("forward"),
            )
            return


@contract_check(
    "NONDET-BACKWARD",
    "The same call, the same gradient",
    REPRODUCIBILITY,
    "Called twice alike, backward returns the same.",
)
def _nondet_backward(session: CheckSession) -> Iterator[CheckFinding]:
    if "RANDOM-BACKWARD" in session.broken:
        yield CheckFinding("note", "It draws random numbers, so no two answers can be compared.")
        return
    some, others = session.gradients(session.first.grad_outputs), session.gradients(session.first.grad_outputs)
    for name, found in differing_gradients(some, others):
        rounding, (was, is_) = all_gradients_close(some, others), farthest_elements(*found)
        yield CheckFinding(
            "note" if rounding else "error",
            f"Called twice alike, backward returned {was} and then {is_} for {name}.",
            "Autograd expects the same gradient for the same call.",
            "The difference is rounding."
            if rounding
            else "Look for memory that is not initialised (torch.empty), or for state that is kept between calls.",
            session.source.called("empty_like", *BACKWARD_METHODS)
            or session.source.called("empty", *BACKWARD_METHODS)
            or session.source.returned(),
        )
        return


@contract_check(
    "BWD-REPEAT", "A second backward", EXTENDING, "A second backward through the same graph returns the same."
)
def _bwd_repeat(session: CheckSession) -> Iterator[CheckFinding]:
    if session.broken & {"RANDOM-BACKWARD", "NONDET-BACKWARD"}:
        yield CheckFinding("note", "It is not deterministic on a fresh graph either.")
        return
    ran = session.call.run()
    first = ran.gradients(session.handed, retain=True)
    first = {name: None if found is None else found.clone() for name, found in first.items()}
    try:
        second = ran.gradients(session.handed, retain=True)
    except Exception as error:  # noqa: BLE001 a result
        once = getattr(session.function, "clear_saved_tensors_on_access", False)
        yield CheckFinding(
            "note" if once else "warning",
            f"A second backward through the same graph, with retain_graph=True, raised {describe_exception(error)}.",
            "",
            "That is the price of clear_saved_tensors_on_access."
            if once
            else "Leave what forward saved as it is, so that backward can be called again.",
            session.source.line_of(error) or session.source.defined(*BACKWARD_METHODS),
        )
        return
    for name, found in differing_gradients(first, second):
        if not gradients_close(*found):
            was, is_ = farthest_elements(*found)
            yield CheckFinding(
                "error",
                f"Asked twice through the same graph, backward returned {was} and then {is_} for {name}.",
                "With retain_graph=True the engine calls backward again on the same ctx.",
                "backward changes what forward kept: write to a copy.",
                session.source.edited("ctx", *BACKWARD_METHODS) or _edited_saved(session) or session.source.returned(),
            )
            return


@contract_check(
    "GLOBAL-STATE",
    "State outside ctx",
    FUNCTION,
    "Another call in between changes no gradient.",
    ("backward", "deterministic"),
)
def _global_state(session: CheckSession) -> Iterator[CheckFinding]:
    alone = session.gradients(session.first.grad_outputs)
    ran = session.call.run()
    with torch.no_grad():
        _at_other_inputs(session.call).run()
    between = ran.gradients(session.handed)
    tracked = session.call.run()
    try:
        _at_other_inputs(session.call).run()
        between_tracked = tracked.gradients(session.handed)
    except Exception:  # noqa: BLE001 forward may not be defined at other inputs
        between_tracked = alone
    for other in (between, between_tracked):
        for name, found in differing_gradients(alone, other):
            if not gradients_close(*found):
                was, is_ = farthest_elements(*found)
                yield CheckFinding(
                    "error",
                    f"With another call between forward and backward, backward returned {is_} for {name} in place of "
                    f"{was}.",
                    "",
                    "Something is kept outside ctx, in a class or a module, and the second call overwrites what the "
                    "first backward needs. Keep it on ctx.",
                    session.source.defined("forward"),
                )
                return


def _equal_but_for_rounding(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two outputs are the same; torch itself may take another algorithm where no gradient is asked for."""
    if same_elements(one, other):
        return True
    if one.shape != other.shape or one.dtype != other.dtype or not one.dtype.is_floating_point:
        return False
    finite = one[one.isfinite()].abs()
    rounding = tolerance_for(float(finite.max()) if finite.numel() else 0.0, one.dtype)
    return torch.allclose(one, other, rtol=rounding.rtol, atol=rounding.atol, equal_nan=True)


@contract_check(
    "FWD-GRADMODE",
    "With and without a gradient",
    FUNCTION,
    "forward returns the same whether or not a gradient is asked for.",
    ("forward", "deterministic"),
)
def _fwd_gradmode(session: CheckSession) -> Iterator[CheckFinding]:
    tracked = session.call.run()
    try:
        plain = {
            "no input requires grad": session.call.run(which=()).outputs,
            "torch.no_grad is on": session.call.value(),
        }
    except Exception as error:  # noqa: BLE001 a result
        yield CheckFinding(
            "warning",
            f"Where no input requires grad, the call raised {describe_exception(error)}.",
            "",
            "forward should do the same whether or not a gradient is asked for.",
            session.source.line_of(error),
        )
        return
    for where, outputs in plain.items():
        for name, out in tracked.outputs.items():
            if name not in outputs or not _equal_but_for_rounding(out.detach(), outputs[name].detach()):
                was, is_ = farthest_elements(out, outputs[name]) if name in outputs else ("there", "gone")
                yield CheckFinding(
                    "warning",
                    f"Where {where}, {name} is {is_} in place of {was}.",
                    "Training and inference compute different numbers.",
                    "forward should not use ctx.needs_input_grad or requires_grad to choose what it returns.",
                    session.source.read("needs_input_grad", *FORWARD_METHODS)
                    or session.source.read("requires_grad", *FORWARD_METHODS),
                )
                return


def _at_other_inputs(call: Call) -> Call:
    """The same call at other inputs: the same numbers in another order, or slightly smaller ones."""
    return call.holding(
        {
            name: tensor.reshape(-1).roll(3).reshape(tensor.shape) if name in call.stacked else 0.875 * tensor
            for name, tensor in call.tensors.items()
        }
    )


def _edited_saved(session: CheckSession) -> int | None:
    """The line at which backward edits a saved tensor in place, found by its variable name."""
    given = session.source.parameter(1, *BACKWARD_METHODS)
    return next(
        (
            line
            for name in ("saved", *session.source.unpacked())
            if name != given and (line := session.source.edited(name, *BACKWARD_METHODS))
        ),
        None,
    )


STATE_CHECKS = (
    _random_forward,
    _random_backward,
    _stateful_forward,
    _nondet_backward,
    _bwd_repeat,
    _global_state,
    _fwd_gradmode,
)
