"""Engines for texts that were edited in a page."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from gradloupe.server.protocol.answer import Answer
from gradloupe.server.protocol.job import Job
from gradloupe.server.supervisor.engine import Engine
from support import event_loop
from support.engines import question_of

LINES = '''import torch


class Edited(torch.autograd.Function):
    """Gradloupe: x: float64[]; k = 2.0"""

    @staticmethod
    def forward(ctx, x, k=2.0):
        ctx.save_for_backward(x)
        ctx.k = k
        {forward}

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        {backward}
'''
FORWARD, BACKWARD = "return x**k", "return grad_output * ctx.k * x ** (ctx.k - 1), None"
FORWARD_LINE, BACKWARD_LINE = 11, 16  # of the text


def edited(forward: str = FORWARD, backward: str = BACKWARD) -> str:
    """The text of a Function with these lines."""
    return LINES.format(forward=forward, backward=backward)


@asynccontextmanager
async def engine_of_text(text: str, **limits: Any) -> AsyncIterator[Engine]:
    """The engine whose worker has a guest execute the text."""
    engine = Engine.spawn(Job(text=text, **limits))
    await engine.connect()
    try:
        yield engine
    finally:
        await engine.close()


async def first_answer(engine: Engine, **changes: Any) -> Answer:
    """The answer to what is asked first of the first Function of an engine, with these changes."""
    return await engine.answer(await question_of(engine, next(iter(await engine.catalogue())), **changes))


def answer_of_text(text: str, **changes: Any) -> Answer:
    """The answer to what is asked first of the first Function of a text."""

    async def asked() -> Answer:
        async with engine_of_text(text, deadline=60.0) as engine:
            return await first_answer(engine, **changes)

    return event_loop.run(asked())
