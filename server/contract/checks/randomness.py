"""Checks of randomness: whether forward or backward uses a random generator of torch, NumPy or Python."""

from __future__ import annotations

from collections.abc import Iterator

from ...numerics.sentences.places import listed
from ...runtime.rng import Randomness
from ..examination.call import Call, reseed
from ..examination.function_lines import BACKWARD, FORWARD
from ..examination.probe import Found, Probe
from ..examination.references import REPRODUCIBILITY
from ..examination.session import Examined


def draws(call: Call) -> tuple[str, ...]:
    """The names of the libraries whose random generator forward uses. Raises what forward raises."""
    given = call.arguments()
    reseed()
    before = Randomness.now()
    call.callee(*given.arguments)
    return before.changed()


def random_forward(at: Examined) -> Iterator[Found]:
    """Check: forward draws no random numbers."""
    if drawn := draws(at.call):
        yield Found(
            "note",
            f"forward draws random numbers of {listed(drawn)}.",
            "Two calls give two outputs.",
            "Differences use the same numbers on either side of x: they measure the slope of one draw.",
            at.source.drawn(*FORWARD),
        )


def random_backward(at: Examined) -> Iterator[Found]:
    """Check: backward draws no random numbers."""
    ran = at.call.run()
    handed = at.handed
    before = Randomness.now()
    ran.gradients(handed)
    if drawn := before.changed():
        yield Found(
            "warning",
            f"backward draws random numbers of {listed(drawn)}.",
            "The same loss has another gradient every time.",
            "Draw in forward and save what was drawn, or say that the noise is meant.",
            at.source.drawn(*BACKWARD),
        )


DRAWN = (
    Probe(
        "RANDOM-FORWARD",
        "Random numbers in forward",
        REPRODUCIBILITY,
        "forward draws no random numbers.",
        random_forward,
        ("forward",),
    ),
    Probe(
        "RANDOM-BACKWARD",
        "Random numbers in backward",
        REPRODUCIBILITY,
        "backward draws no random numbers.",
        random_backward,
    ),
)
