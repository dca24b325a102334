"""What is proved of the gallery, and that no more is said than holds."""

import math

import pytest
from support.sections import section

from gradloupe.ops import OPS
from gradloupe.server.proof import AT_MOST, Proof, prove

SCALAR = [
    name
    for name, op in OPS.items()
    if all(each.shape == () for each in op.inputs) and len(op.outputs) == 1 and op.dtype == "float64"
]
MOST_BOXES = 6000  # budget: of all of them together, two processor seconds of an idle machine
SILENT = {"noisy_backward", "one_gradient_too_few", "state_on_the_class"}
REFUTED = {"incorrect_clipped_relu", "swapped_gradients", "weight_decay_in_backward", "float32_mask"}


def looked_at(name: str) -> Proof:
    op, cut = OPS[name], section(name)
    start, stop = next(each.domain for each in op.inputs if each.name == cut.wrt)
    found = prove(cut, op.surrogate_for(cut.wrt, op.grad_output), start, stop, op.grad_output, AT_MOST)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def proofs() -> dict[str, Proof]:
    return {name: looked_at(name) for name in SCALAR}


def test_all_but_three_scalar_ops_are_proved_or_refuted_with_few_boxes(proofs: dict[str, Proof]) -> None:
    assert len(SCALAR) >= 66
    assert {name for name, each in proofs.items() if each.word not in ("proved", "refuted")} == SILENT
    assert sum(each.boxes for each in proofs.values()) < MOST_BOXES


def test_what_is_refuted_is_a_specimen_whose_curve_is_wrong(proofs: dict[str, Proof]) -> None:
    assert {name for name, each in proofs.items() if each.word == "refuted"} == REFUTED


def test_an_op_that_keeps_its_word_is_proved_to_a_trillionth_of_the_slope(proofs: dict[str, Proof]) -> None:
    claimed = [each for name, each in proofs.items() if not OPS[name].broken]
    assert {each.word for each in claimed} == {"proved"}
    assert max(each.epsilon for each in claimed) <= 1e-12


def test_kinks_and_jumps_are_enclosed_to_a_hundred_billionth(proofs: dict[str, Proof]) -> None:
    for name, each in proofs.items():
        assert all(stop - start <= 1e-11 for start, stop in each.points), name
    for name, kinks in {"hard_swish": (-3, 3), "softplus_with_threshold": (4,), "pact": (0, 2)}.items():
        found = proofs[name].points
        assert len(found) == len(kinks)
        assert all(start <= kink <= stop for (start, stop), kink in zip(found, kinks, strict=True))


def test_stretches_of_a_proof_share_their_ends_alone_and_cover_the_range(proofs: dict[str, Proof]) -> None:
    for each in proofs.values():
        all_ = sorted((*each.proved, *each.refuted, *each.undecided))
        points = [point for point in each.points if not any(a <= point[0] and point[1] <= b for a, b in all_)]
        stretches = sorted((*all_, *points))
        assert stretches[0][0] == each.start
        assert math.isclose(sum(stop - start for start, stop in stretches), each.stop - each.start, abs_tol=1e-9)


@pytest.mark.parametrize("name", ["softmax", "layer_norm", "matrix_product", "cross_entropy", "l2_norm", "sparsemax"])
def test_an_element_of_a_vector_or_a_matrix_is_proved(name: str) -> None:
    assert looked_at(name).word == "proved"


def test_the_same_question_has_the_same_answer() -> None:
    assert looked_at("mish") == looked_at("mish")
