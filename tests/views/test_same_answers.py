"""One question has one answer, to the byte: what is looked at depends on counts and sizes, not on the clock."""

from itertools import chain, cycle

import pytest
from functions.seeds import SEEDS
from support import http
from support.busy_cpu import crowded
from support.servers import serving_in_thread

from gradloupe.server.protocol.question import VIEW_NAMES

# Every view of several ops, among them one of which every point costs a call.
OPS_IN_TURN = chain(["functional_linear"] * len(VIEW_NAMES), cycle(SEEDS))
ADDRESSES = [f"/ops/{next(OPS_IN_TURN)}.json?view={view}" for view in 4 * VIEW_NAMES]


def test_another_process_on_a_busy_processor_answers_the_same_to_the_byte(
    server: str, subtests: pytest.Subtests
) -> None:
    assert len(ADDRESSES) >= 40
    with serving_in_thread() as other:
        other.wait_until_ready()
        with crowded(other.worker()):
            for address in ADDRESSES:
                with subtests.test(address):
                    assert other.get(address).content == http.get(f"{server}{address}").content
