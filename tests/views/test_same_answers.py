"""One question has one answer, to the byte: what is looked at depends on counts and sizes, not on the clock."""

from dataclasses import replace
from itertools import chain, cycle

import numpy as np
import pytest
from functions.seeds import SEEDS
from support import http
from support.answers import answer
from support.busy_cpu import slowed
from support.servers import serving_in_thread

from gradloupe.server.protocol.question import VIEW_NAMES, Element, Question

# Every view of several ops, among them one of which every point costs a call.
OPS_IN_TURN = chain(["functional_linear"] * len(VIEW_NAMES), cycle(SEEDS))
ADDRESSES = [f"/ops/{next(OPS_IN_TURN)}.json?view={view}" for view in 4 * VIEW_NAMES]


def test_a_random_function_is_answered_the_same_whatever_was_asked_before() -> None:
    asked = Question("noisy_backward", Element("x"), Element("y"), -3.0, 3.0)
    header, columns = answer(asked)
    answer(replace(asked, view="descent"))
    again, same = answer(asked)
    assert again == header
    assert columns.keys() == same.keys()
    for name, column in columns.items():
        np.testing.assert_array_equal(same[name], column)


def test_another_process_on_a_machine_half_as_fast_answers_the_same_to_the_byte(
    server: str, subtests: pytest.Subtests
) -> None:
    assert len(ADDRESSES) >= 40
    with serving_in_thread("--deadline", "60") as other:
        other.wait_until_ready()
        with slowed(other.worker()):
            for address in ADDRESSES:
                with subtests.test(address):
                    assert other.get(address).content == http.get(f"{server}{address}").content
