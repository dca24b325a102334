"""Where a proof and the measurement speak of the same curves of the gallery, neither contradicts the other.

If they do, one of the two is at fault, and that is ours: this test is the place where it is loud.
"""

import pytest
from support.sampling import sampled
from support.sections import look, section

from gradloupe.ops import OPS
from gradloupe.server.proof import prove

GRAD_OUTPUTS = (1.0, -1.0)


def contradictions(name: str, grad_output: float) -> list[str]:
    """What is measured to differ where it is proved right, and what is refuted though the measurement agrees."""
    op = OPS[name]
    cut = section(op)
    start, stop = next(each.domain for each in op.inputs if each.name == cut.wrt)
    found = prove(cut, op.surrogate_for(cut.wrt, grad_output), start, stop, grad_output)
    assert found is not None
    _, verdict = look(op, start, stop, 401, grad_output)
    measured = verdict.against.intervals if verdict.word == "differs" else ()
    width = 1e-3 * (stop - start)  # bound: of the gap between what is measured and the next row
    wrong = [
        f"measured to differ from {low} to {high}, proved from {one} to {other}"
        for low, high in measured
        for one, other in found.proved
        if min(high, other) - max(low, one) > width
    ]
    return wrong + [f"refuted, yet it {verdict.word}"] * (found.word == "refuted" and verdict.word != "differs")


@pytest.mark.parametrize("name", sampled(OPS))
def test_neither_contradicts_the_other(name: str) -> None:
    assert [said for grad_output in GRAD_OUTPUTS for said in contradictions(name, grad_output)] == []
