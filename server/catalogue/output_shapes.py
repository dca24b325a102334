"""Measures the output shapes of ops by running each once in a forked child, so that a crash or hang is contained."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from select import select
from time import monotonic

import torch

from ...ops import Op

Shape = tuple[int, ...]

_TIME_LIMIT = 5.0  # time limit for one op in seconds


def output_shapes(ops: list[Op]) -> dict[str, list[Shape]]:
    """For each op the shapes of its outputs at the declared values; ``()`` for a single number.

    The ops run in a child process. One that crashes it, or does not return, is taken to return single numbers,
    and reports its error when it is opened.
    """
    shapes: dict[str, list[Shape]] = {}
    while left := [op for op in ops if op.name not in shapes]:
        measured = dict(_in_child(left)) if hasattr(os, "fork") else {op.name: measured_shapes(op) for op in left}
        shapes |= measured
        if len(measured) < len(left):
            culprit = left[len(measured)]
            shapes[culprit.name] = [()] * len(culprit.outputs)
    return {op.name: shapes[op.name] for op in ops}


def measured_shapes(op: Op) -> list[Shape]:
    """The shapes of one op's outputs, measured in this process; ``()`` if forward fails."""
    dtype = getattr(torch, op.dtype)
    inputs = [torch.tensor(each.values, dtype=dtype).reshape(each.shape or (1,)) for each in op.inputs]
    try:
        with torch.no_grad():
            y = op(*inputs, *(each.default for each in op.parameters))
    except (Exception, SystemExit):  # noqa: BLE001 the failure is reported when the op is opened
        y = ()
    outputs = y if isinstance(y, tuple) else (y,)
    shapes = [tuple(out.shape) if isinstance(out, torch.Tensor) and out.numel() > 1 else () for out in outputs]
    return [*shapes, *[()] * len(op.outputs)][: len(op.outputs)]


def _in_child(ops: list[Op]) -> Iterator[tuple[str, list[Shape]]]:
    """The shapes that a child process measures, in order, until it ends or one op takes too long."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reading)
            for op in ops:
                os.write(writing, json.dumps([op.name, measured_shapes(op)]).encode() + b"\n")
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        for line in _lines(pipe.fileno()):
            name, measured = json.loads(line)
            yield name, [tuple(shape) for shape in measured]
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _lines(pipe: int) -> Iterator[bytes]:
    """The lines read from ``pipe`` until its end, or until one exceeds the time limit."""
    text, until = b"", monotonic() + _TIME_LIMIT
    while select([pipe], [], [], max(0.0, until - monotonic()))[0] and (more := os.read(pipe, 65536)):
        *lines, text = (text + more).split(b"\n")
        if lines:
            yield from lines
            until = monotonic() + _TIME_LIMIT
