"""Fused kernels, which compute in float32 or less, whatever they are given: right ones pass, wrong ones do not."""

from pathlib import Path

import pytest
from functions import fused_kernels
from support.checked_files import checked_functions

RIGHT = {"FusedGELU", "FusedRMSNorm", "RMSNormByAtomics", "FusedCrossEntropy", "HalfSoftmax"}
WRONG = {"GELUWithoutX", "RMSNormWithMean", "CrossEntropyForOnes"}


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """What is found of each, by its name."""
    folder: Path = tmp_path_factory.mktemp("kernels")
    return {each.checked.name: each.checked for each in checked_functions(folder, fused_kernels.__file__)}


def test_right_ones_pass_and_wrong_ones_fail(kernels):
    words = {name: each.word for name, each in kernels.items()}
    assert {name for name, word in words.items() if word == "matches"} == RIGHT
    assert {name for name, word in words.items() if word == "differs"} == WRONG
