from typing import Any

import pytest
import torch
from functions import captured
from functions.captured import GLOBAL, INNER, NETS, STATE, RightScale, WrongScale

import gradloupe

X = torch.tensor([0.3, -1.2, 0.7])


def nightly(*row: Any) -> Any:
    return pytest.param(*row, marks=pytest.mark.nightly)


@pytest.mark.parametrize(
    ("function", "given", "word", "said"),
    [
        (NETS[RightScale], (X,), "matches", "w inner.weight inner.bias"),
        nightly(NETS[WrongScale], (X,), "differs", "respect to w["),
        nightly(captured.enclosed(RightScale), (X,), "matches", "w.0"),
        (captured.enclosed(WrongScale), (X,), "differs", "≤ w.0 ≤"),
        nightly(captured.wrong_by_a_global, (X,), "differs", "≤ GLOBAL ≤"),
        nightly(captured.called_as_its_argument, (X,), "differs", "≤ W_ ≤"),
        (captured.by_a_net, (X,), "differs", "NETS.<class"),
        nightly(captured.with_a_fixed_one, (X,), "undecided", "Not every input was swept: FIXED.0 not."),
        (captured.with_a_long_one, (X,), "undecided", "Not every input was swept: LONG not."),
        (
            captured.ReadsState,
            (X,),
            "differs",
            "forward moves with STATE.kernel, which requires grad and is no argument",
        ),
        nightly(captured.AsksState, (X,), "matches", ""),
        (captured.Residual, (X, INNER, *INNER.parameters()), "matches", "parameters1"),
    ],
)
def test_what_is_captured_is_looked_at_or_said_not_to_be(function: Any, given: Any, word: str, said: str) -> None:
    kept = [each.detach().clone() for each in (GLOBAL, STATE.kernel, *INNER.parameters())]
    found = gradloupe.check(function, given)
    assert (found.word, found.ok) == (word, word == "matches")
    if word == "matches":
        assert {*said.split()} <= {each.wrt.partition("[")[0] for each in found.sweeps}
    else:
        assert said in found.sentence
    assert all(map(torch.equal, kept, (GLOBAL, STATE.kernel, *INNER.parameters())))
