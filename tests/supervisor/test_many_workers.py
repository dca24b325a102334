"""Several workers for the same questions: side by side, in a fair order, all with the same code, and small."""

import asyncio
import os
import signal
from pathlib import Path

import pytest
from psutil import Process
from supervisor.test_killed_workers import killed
from support.engines import engine_of, question_of
from support.event_loop import awaited
from support.own_worker import SQUARE
from support.servers import serving, serving_in_thread
from support.waiting import until

from gradloupe.server.supervisor.engine import Engine
from gradloupe.server.supervisor.worker_process import usable_cores

# Asked for a wide range, it returns once two processes are in it at the same time.
MEETS = SQUARE.replace("import torch", "import os\n\nimport torch\n\nHERE = os.path.dirname(__file__)").replace(
    "        ctx.save_for_backward(x)",
    """        if x.abs().max() > 59:
            open(os.path.join(HERE, f"here{os.getpid()}"), "w").close()
            while sum(name.startswith("here") for name in os.listdir(HERE)) < 2:
                pass
        ctx.save_for_backward(x)""",
)


@awaited
async def test_two_questions_are_answered_side_by_side(tmp_path: Path) -> None:
    (tmp_path / "my_ops.py").write_text(MEETS)
    async with engine_of(tmp_path / "my_ops.py", workers=2, deadline=60.0) as engine:
        asked = [await question_of(engine, "Square", start=-60.0, stop=60.0, count=count) for count in (11, 12)]
        answers = await asyncio.gather(*map(engine.answer, asked))
        assert [answer.header["verdict"]["word"] for answer in answers] == ["matches", "matches"]


@pytest.mark.parametrize("kills", [4, pytest.param(100, marks=pytest.mark.nightly)])
@awaited
async def test_no_answer_is_lost_or_wrong_while_one_of_several_workers_is_killed(kills: int) -> None:
    async with engine_of(workers=2) as engine:
        crowd = await killed(engine, "square", kills, forkservers=False)
        assert {*crowd.faults} == {""}
        assert engine.restarts >= kills


async def order_of(engine: Engine, asked: list[tuple[str, str, str]]) -> list[str]:
    """The names of what is asked at once, each with its view and the address it comes from, as they are answered."""
    order = list[str]()

    async def one(number: int, name: str, view: str, address: str) -> None:
        question = await question_of(engine, "exp", view=view, grad_output=2.0 + number)
        await engine.answer(question, None, address)
        order.append(name)

    await asyncio.gather(*(one(number, *each) for number, each in enumerate(asked)))
    return order


@awaited
async def test_a_short_question_does_not_wait_for_all_the_long_ones_before_it() -> None:
    async with engine_of() as engine:
        await order_of(engine, [("", "contract", ""), ("", "curves", "")])  # how long they take is known from now on
        order = await order_of(engine, [("long", "contract", "")] * 4 + [("short", "curves", "")])
        assert order.index("short") == 1  # one was under way


@awaited
async def test_who_asks_much_does_not_keep_another_waiting() -> None:
    async with engine_of() as engine:
        await order_of(engine, [("", "curves", "")] * 4)
        order = await order_of(engine, [("much", "curves", "a")] * 20 + [("one", "curves", "b")])
        assert order.index("one") < 5


def further(worker: int) -> float:
    """MB by which a worker adds to the memory of all (to the sum of their PSS): what it shares with none of them."""
    return float(Process(worker).memory_full_info().uss) / 1e6


@awaited
async def test_a_further_worker_takes_at_most_60_mb() -> None:
    async with engine_of(workers=3) as engine:
        for view in ("curves", "jacobian", "contract"):
            questions = [await question_of(engine, "exp", view=view, grad_output=2.0 + each) for each in range(9)]
            await asyncio.gather(*map(engine.answer, questions))
        assert max(further(worker) for worker in engine.workers[1:]) < 60


def test_a_server_with_two_workers_answers_while_one_is_replaced() -> None:
    with serving_in_thread("--workers", "2") as server:
        first, second = until(lambda: len(server.workers()) == 2 and server.workers())
        server.wait_until_ready()
        assert 'process="worker 2"' in server.get("/metrics").text
        os.kill(first, signal.SIGKILL)
        answers = [server.get(f"/ops/exp.json?count={count}").json() for count in (11, 12)]
        assert [answer["verdict"]["word"] for answer in answers] == ["matches"] * 2
        assert until(lambda: len(server.workers()) == 2 and first not in server.workers())
        assert second in server.workers()


@pytest.mark.nightly
def test_one_worker_with_other_code_makes_room_for_none_with_the_old(package_copy: Path) -> None:
    with serving("--workers", "2", path=str(package_copy.parent), cwd=package_copy.parent) as server:
        before = until(lambda: len(server.workers()) == 2 and server.workers())
        server.wait_until_ready()
        with (package_copy / "ops" / "op.py").open("a") as file:
            file.write("# another release\n")
        os.kill(before[0], signal.SIGKILL)
        assert until(lambda: len({*server.workers()} - {*before}) == 2)
        assert server.get("/ops/exp.json").json()["verdict"]["word"] == "matches"


@pytest.mark.parametrize(
    ("files", "most"),
    [
        ({"cpu.max": "max 100000"}, None),
        ({"cpu.max": "150000 100000"}, 1),
        ({"cpu.max": "50000 100000"}, 1),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ({"cpu/cpu.cfs_quota_us": "100000", "cpu/cpu.cfs_period_us": "100000"}, 1),
    ],
)
def test_a_container_has_as_many_processors_as_its_quota_gives(
    tmp_path: Path, files: dict[str, str], most: int | None
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert usable_cores(tmp_path) == (most or usable_cores(tmp_path / "none"))
