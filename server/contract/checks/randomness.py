"""Checks of randomness: whether forward or backward uses a random generator of torch, NumPy or Python."""

from __future__ import annotations

from collections.abc import Iterator

from ...numerics.sentences.places import join_words
from ...runtime.rng import GeneratorStates
from ..examination.call import Call, reset_seeds
from ..examination.function_lines import BACKWARD_METHODS, FORWARD_METHODS
from ..examination.probe import CheckFinding, Probe
from ..examination.session import CheckSession
from ..examination.torch_documentation import REPRODUCIBILITY


def random_sources(call: Call) -> tuple[str, ...]:
    """The names of the libraries whose random generator forward uses. Raises what forward raises."""
    given = call.arguments()
    reset_seeds()
    before = GeneratorStates.now()
    call.callee(*given.arguments)
    return before.changed()


def _random_forward(at: CheckSession) -> Iterator[CheckFinding]:
    """Check: forward draws no random numbers."""
    if drawn := random_sources(at.call):
        yield CheckFinding(
            "note",
            f"forward draws random numbers of {join_words(drawn)}.",
            "Two calls give two outputs.",
            "Differences use the same numbers on either side of x: they measure the slope of one draw.",
            at.source.drawn(*FORWARD_METHODS),
        )


def _random_backward(at: CheckSession) -> Iterator[CheckFinding]:
    """Check: backward draws no random numbers."""
    ran = at.call.run()
    handed = at.handed
    before = GeneratorStates.now()
    ran.gradients(handed)
    if drawn := before.changed():
        yield CheckFinding(
            "warning",
            f"backward draws random numbers of {join_words(drawn)}.",
            "The same loss has another gradient every time.",
            "Draw in forward and save what was drawn, or say that the noise is meant.",
            at.source.drawn(*BACKWARD_METHODS),
        )


RANDOMNESS_CHECKS = (
    Probe(
        "RANDOM-FORWARD",
        "Random numbers in forward",
        REPRODUCIBILITY,
        "forward draws no random numbers.",
        _random_forward,
        ("forward",),
    ),
    Probe(
        "RANDOM-BACKWARD",
        "Random numbers in backward",
        REPRODUCIBILITY,
        "backward draws no random numbers.",
        _random_backward,
    ),
)
