"""What holds on each device that torch has here: on a GPU where there is one, on the CPU always."""

from pathlib import Path

import pytest
import torch
from support.engines import engine_of, question_of
from support.event_loop import awaited
from support.own_worker import SQUARE
from support.written_functions import class_source

from gradloupe.server.protocol.errors import Unsolved
from gradloupe.server.runtime.devices import devices, gpu_error
from gradloupe.server.runtime.rng import SEED, GeneratorStates, preserve_rng, seed_all_generators

# The squares of 0 to 9, looked up. There is nothing beyond: on a GPU such an index ends the use of it.
LOOKS_UP = """
    def forward(ctx, x):
        return torch.arange(10, dtype=x.dtype, device=x.device).square()[x.long()]
    def backward(ctx, grad_output):
        return torch.zeros_like(grad_output)
"""
# What a kernel does with a tensor that lies elsewhere.
ON_A_GPU = """
    def forward(ctx, x):
        if not x.is_cuda:
            raise ValueError("x must be a CUDA tensor")
        ctx.save_for_backward(x)
        return x.sin()
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * x.cos()
"""
# No argument avoids what is wrong with it. On a GPU it ends the use of that, and says less.
OUT_OF_BOUNDS = """
    def forward(ctx, x):
        return x * torch.arange(3, device=x.device)[torch.tensor([7], device=x.device)]
    def backward(ctx, grad_output):
        return grad_output
"""
each_device = pytest.mark.parametrize("device", [each.kind for each in devices()])


@each_device
@awaited
async def test_an_index_out_of_range_is_survived_and_spoils_no_later_answer(tmp_path: Path, device: str) -> None:
    files = tmp_path / "tables.py", tmp_path / "my_ops.py"
    for file, text in zip(files, (f"import torch\n\n\n{class_source(LOOKS_UP, 'Table')}", SQUARE), strict=True):
        file.write_text(text)
    async with engine_of(*files) as engine:
        within = await question_of(engine, "Table", start=0.0, stop=9.5, device=device)
        looked_up = (await engine.answer(within)).header
        assert looked_up["failure"] is None
        assert looked_up["verdict"]["word"] == "matches"
        used_the_cpu = any("the CPU was used instead" in note for note in looked_up["notes"])
        assert used_the_cpu == (device == "cuda")
        for _ in range(2):
            later = (await engine.answer(await question_of(engine, "Square", device=device))).header
            assert later["verdict"]["word"] == "matches"
            assert later["device"]["kind"] == device


@awaited
async def test_what_runs_on_a_gpu_alone_is_called_there_and_else_said_to_miss_one(tmp_path: Path) -> None:
    file = tmp_path / "my_ops.py"
    file.write_text(f"import torch\n\n\n{class_source(ON_A_GPU, 'Kernel')}")
    async with engine_of(file) as engine:
        if devices()[0].kind != "cuda":
            with pytest.raises(Unsolved, match=r"Kernel cannot run on this machine, .* must be a CUDA tensor"):
                await engine.op("Kernel")
            return
        for device in ("cuda", "cpu"):
            for view in ("curves", "contract"):
                header = (await engine.answer(await question_of(engine, "Kernel", view=view, device=device))).header
                assert header["failure"] is None
                assert any("runs on cuda alone" in note for note in header["notes"]) == (device == "cpu")
        assert all(row["level"] != "error" for row in header["checks"])


@awaited
async def test_what_no_call_is_found_for_is_told_by_its_error_on_the_cpu(tmp_path: Path) -> None:
    file = tmp_path / "my_ops.py"
    file.write_text(f"import torch\n\n\n{class_source(OUT_OF_BOUNDS, 'Table')}{SQUARE}")
    async with engine_of(file) as engine:
        with pytest.raises(Unsolved, match="index 7 is out of bounds"):
            await engine.op("Table")
        assert (await engine.op("Square"))["name"] == "Square"


@each_device
@awaited
async def test_what_backward_returned_is_seen(device: str) -> None:
    async with engine_of() as engine:
        question = await question_of(engine, "exp", view="node", dtype="float32", device=device)
        (argument,) = (await engine.answer(question)).header["functions"][0]["arguments"]
        assert argument["returned"] == argument["delivered"]


@each_device
def test_the_same_seed_draws_the_same_numbers(device: str) -> None:
    with preserve_rng():
        seed_all_generators(SEED)
        before = GeneratorStates.now()
        drawn = torch.rand(5, device=device)
        assert before.changed() == ("torch",)
        seed_all_generators(SEED)
        assert torch.equal(torch.rand(5, device=device), drawn)
        before.restore()
        assert before.changed() == ()
        assert torch.equal(torch.rand(5, device=device), drawn)


def test_no_gpu_is_said_to_be_lost_before_a_function_has_broken_one() -> None:
    assert not gpu_error()
