"""One question has one answer, to the byte: what is looked at depends on counts and sizes, not on the clock."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import chain, cycle, product
from pathlib import Path

import numpy as np
import pytest
from functions.seeds import SEEDS
from support import event_loop, http
from support.answers import answer
from support.busy_cpu import crowded, slowed
from support.checked_files import written
from support.engines import engine_of
from support.servers import serving_in_thread
from support.written_functions import formula

from gradloupe.server.documents.json_document import json_document
from gradloupe.server.protocol.question import Element, Question
from gradloupe.server.protocol.views import VIEW_NAMES
from gradloupe.server.url.address import default_address

Beside = Callable[[int], AbstractContextManager[None]]
# Every view of an op of which every point costs a call, and of the seeds in turn.
OPS_IN_TURN = chain(["functional_linear"] * len(VIEW_NAMES), cycle(SEEDS))
DTYPES = cycle(("float64", "float32"))
ADDRESSES = [f"/ops/{next(OPS_IN_TURN)}.json?view={view}&dtype={next(DTYPES)}" for view in 2 * VIEW_NAMES]
SLOW, SEEDS_IN_TURN = ADDRESSES[: len(VIEW_NAMES)], ADDRESSES[len(VIEW_NAMES) :]


def test_a_random_function_is_answered_the_same_whatever_was_asked_before() -> None:
    asked = Question("noisy_backward", Element("x"), Element("y"), -3.0, 3.0)
    header, columns = answer(asked)
    answer(replace(asked, view="descent"))
    again, same = answer(asked)
    assert again == header
    np.testing.assert_equal(same, columns)


@pytest.mark.nightly
@pytest.mark.parametrize("addresses", [SLOW, SEEDS_IN_TURN], ids=len)
def test_another_process_on_a_machine_half_as_fast_answers_the_same_to_the_byte(
    server: str, addresses: list[str], subtests: pytest.Subtests
) -> None:
    with serving_in_thread("--deadline", "60") as other:
        other.wait_until_ready()
        with slowed(other.worker()):
            for address in addresses:
                with subtests.test(address):
                    assert other.get(address).content == http.get(f"{server}{address}").content


OWN = {
    "Linear": formula("x, weight, bias", "x @ weight.t() + bias", "g @ weight, g.t() @ x, g.sum(0)", saved="x, weight"),
    # Sines of sines: Python all the way.
    "Recurrent": """
        def forward(ctx, x, turns=20):
            ctx.save_for_backward(x)
            ctx.turns = turns
            y = x
            for _ in range(turns):
                y = torch.sin(y) + 0.5 * x
            return y
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            y, slope = x, torch.ones_like(x)
            for _ in range(ctx.turns):
                slope = torch.cos(y) * slope + 0.5
                y = torch.sin(y) + 0.5 * x
            return grad_output * slope, None
    """,
    # The rows of a table, right where none is taken twice.
    "Rows": """
        def forward(ctx, table, index):
            ctx.save_for_backward(index)
            ctx.shape = table.shape
            return table[index]
        def backward(ctx, grad_output):
            (index,) = ctx.saved_tensors
            grad_table = grad_output.new_zeros(ctx.shape)
            grad_table[index] = grad_output
            return grad_table, None
    """,
}
OWN_ASKED = list(product(OWN, ("curves", "jacobian", "contract")))


def documents(file: Path, beside: Beside) -> dict[str, bytes]:
    """What a worker answers to each op and view while ``beside`` goes on, after how the op is called."""

    async def ask() -> dict[str, bytes]:
        found = {}
        async with engine_of(file, deadline=60.0) as engine:
            await engine.wait_ready()
            with beside(engine.workers[0]):
                for name, view in OWN_ASKED:
                    op = await engine.stub(name) | await engine.op(name)
                    question = replace(default_address(op).question, view=view)
                    document = json_document(await engine.answer(question), "")
                    found[f"{name} {view}"] = f"{op['usual_recipe']} {op['assumed']}".encode() + document
        return found

    return event_loop.run(ask())


@pytest.mark.nightly
def test_a_file_is_judged_the_same_to_the_byte_while_others_compute(tmp_path: Path) -> None:
    file = tmp_path / "my_ops.py"
    file.write_text(written(OWN))
    alone = documents(file, lambda worker: nullcontext())
    busy = documents(file, partial(crowded, by=2))
    assert [name for name in alone if alone[name] != busy[name]] == []
