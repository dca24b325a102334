"""In float32 the same is proved of the real numbers: of that dtype, and of nothing that its rounding makes."""

from collections.abc import Callable

import pytest
import torch
from support.sampling import sampled
from support.sections import look, section, written

from gradloupe.ops import OPS
from gradloupe.server.proof import Proof, prove
from gradloupe.server.proof.certificate import certify, fault_of, section_of

Derivative = Callable[[torch.Tensor], torch.Tensor]
ROUNDED = torch.full((), 0.1, dtype=torch.float32)  # which is not 0.1


def looked_at(derivative: Derivative, dtype: torch.dtype, forward: Derivative = torch.square) -> Proof:
    found = prove(section(written(forward, derivative), dtype=dtype), None, -3.0, 3.0)
    assert found is not None
    return found


@pytest.mark.parametrize("name", sampled(OPS))
def test_of_an_op_the_same_is_proved_unless_it_computes_in_float32_already(name: str) -> None:
    op, cut = OPS[name], section(name)
    start, stop = next(each.domain for each in op.inputs if each.name == cut.wrt)
    cuts = cut, section(name, dtype=torch.float32)
    double, single = (prove(each, op.surrogate_for(each.wrt, op.grad_output), start, stop) for each in cuts)
    assert double is not None
    assert single is not None
    assert single.word == ("proved" if name == "float32_mask" else double.word)
    if single.word == "refuted":
        assert look(op, start, stop, dtype=torch.float32)[1].word == "differs"


WRONG_IN_FLOAT32: dict[str, Derivative] = {
    "its dtype": lambda x: (3 if x.dtype == torch.float32 else 2) * x,
    "the size of its elements": lambda x: (3 if x.element_size() == 4 else 2) * x,
    "what its dtype resolves": lambda x: 2 * x * (1 + 1e6 * torch.finfo(x.dtype).eps),
    "the largest number": lambda x: (3 if torch.finfo(x.dtype).max < 1e39 else 2) * x,
    "whether it can be given the dtype": lambda x: (
        (3 if torch.can_cast(torch.float64, x.dtype) and x.itemsize < 8 else 2) * x
    ),
    "the dtype of a sum": lambda x: (2 if (x + torch.ones(1, dtype=torch.float64)).dtype == x.dtype else 3) * x,
}


@pytest.mark.parametrize("of", WRONG_IN_FLOAT32)
def test_what_depends_on_the_dtype_is_seen_in_each(of: str) -> None:
    words = [looked_at(WRONG_IN_FLOAT32[of], dtype).word for dtype in (torch.float64, torch.float32)]
    assert words == ["proved", "refuted"]


def test_what_only_its_rounding_makes_wrong_is_not_refuted_and_not_proved() -> None:
    found = looked_at(lambda x: 20 * (x * ROUNDED), torch.float32)
    assert (found.word, found.share) == ("nothing", 0)
    assert looked_at(lambda x: 20 * (x * ROUNDED), torch.float64).word == "refuted"


def test_shorter_numbers_inside_are_refused() -> None:
    for shorter in (torch.float16, torch.bfloat16):
        assert "fewer digits" in looked_at(lambda x, to=shorter: 2 * x.to(to).to(x.dtype), torch.float32).reason


def test_a_certificate_says_in_which_dtype_it_is_and_holds_there() -> None:
    op, cut = OPS["swish"], section("swish", dtype=torch.float32)
    proof = prove(cut, None, *op.inputs[0].domain)
    assert proof is not None
    certificate = certify(proof, cut, 1.0)
    assert section_of(certificate, op) == cut
    assert (certificate.dtype, fault_of(certificate, cut, None)) == ("float32", "")
