"""Badge for torch.compile: tried within a time limit, in a forked child process where torch allows that."""

from __future__ import annotations

import ctypes
import json
import math
import os
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import torch

from ...runtime.arguments import tensors_of
from ...runtime.devices import devices
from ...runtime.timeouts import TookTooLong, time_limit
from ..examination.call import Call, reset_seeds
from .badges import BadgeState, CapabilityBadge, exception_summary

# budget: time limit in seconds, and the least that is worth a try. Most of it is spent on what torch imports when it
# compiles for the first time; a request has ten seconds.
_MAX_SECONDS, _MIN_SECONDS = 60.0, 0.02
_KILL_WITH_PARENT = 1  # unit: PR_SET_PDEATHSIG of Linux
_TOLERANCE = 1e-6  # bound: of compiled outputs and gradients against plain ones, absolute and relative
_RECURSION_LIMIT = 10_000  # budget: the compiler recurses deeply
_MAX_BYTES = 65536  # budget: bytes of an answer

CompileResult = tuple[BadgeState, str]


def compile_badge(call: Call, asked: bool, patience: float = _MAX_SECONDS) -> CapabilityBadge:
    """Whether forward and backward compile as one graph and keep their gradients; tried only if ``asked``."""
    if not asked:
        return CapabilityBadge("compile", "unknown", "Not tried, because torch.compile takes seconds.")
    if not hasattr(os, "fork"):
        return CapabilityBadge("compile", "unknown", "It can be tried only where a process can be copied.")
    if patience < _MIN_SECONDS:
        return CapabilityBadge("compile", "unknown", "The Function is too slow: no time was left to try torch.compile.")
    # Where torch has a GPU, it refuses to differentiate in the copy of a process that has done so.
    run = in_a_copy if devices()[0].kind == "cpu" else in_this_process
    state, sentence = run(lambda: try_compile(call), min(patience, _MAX_SECONDS))
    return CapabilityBadge("compile", state, sentence)


def try_compile(call: Call) -> CompileResult:
    """What becomes of the forward and the gradients of a call when they are compiled."""
    ran = call.run()
    given = call.grad_outputs(ran)
    if not given:
        return "unknown", "No output carries a gradient."
    wanted = call.gradients(given)
    compiled = torch.compile(lambda *some: call.callee(*some), backend="aot_eager", fullgraph=True)
    fresh = call.arguments()
    reset_seeds()
    try:
        outputs = dict(zip(ran.outputs, tensors_of(compiled(*fresh.arguments)), strict=True))
        moved = [name for name in given if outputs[name].requires_grad]
        found = torch.autograd.grad(
            [outputs[name] for name in moved],
            list(fresh.leaves.values()),
            [given[name] for name in moved],
            allow_unused=True,
        )
    except Exception as error:  # noqa: BLE001 what a Function raises is a result
        return "no", f"torch.compile raises {exception_summary(error)}."
    values = call.run().outputs
    if not all(_same(outputs[name].detach(), value.detach()) for name, value in values.items()):
        return "wrong", "Compiled, forward returns different numbers."
    if not all(_same(one, wanted[name]) for name, one in zip(fresh.leaves, found, strict=True)):
        return "wrong", "Compiled, the gradients are different, and nothing is raised."
    return "yes", "It compiles as one graph, and its gradients are the same."


def _same(found: torch.Tensor | None, wanted: torch.Tensor | None) -> bool:
    if found is None or wanted is None:
        some = wanted if found is None else found
        return some is None or not bool(some.any())
    return found.shape == wanted.shape and torch.allclose(found, wanted, _TOLERANCE, _TOLERANCE, equal_nan=True)


def in_this_process(work: Callable[[], CompileResult], patience: float) -> CompileResult:
    """The result of ``work`` in this process; what torch has compiled is forgotten."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _RECURSION_LIMIT))
    try:
        with warnings.catch_warnings(), time_limit(patience):
            warnings.simplefilter("ignore")
            return work()
    except TookTooLong:
        return _late(patience)
    except Exception as error:  # noqa: BLE001
        return _raises_before(error)
    finally:
        sys.setrecursionlimit(before)
        torch.compiler.reset()


def _late(patience: float) -> CompileResult:
    return "unknown", f"torch.compile did not finish in {patience:g} seconds."


def _raises_before(error: Exception) -> CompileResult:
    return "unknown", f"The Function raises {exception_summary(error)} before it is compiled."


def in_a_copy(work: Callable[[], CompileResult], patience: float) -> CompileResult:
    """The result of ``work`` in a forked child, so that nothing that it imports, changes or hangs in stays behind."""
    try:
        reading, writing = os.pipe()
    except OSError as refused:
        return "unknown", f"torch.compile cannot be tried in a process of its own: {refused.strerror}."
    library, parent = ctypes.CDLL(None), os.getpid()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about forking with other threads running: the child needs none of them
        child = os.fork()
    if child == 0:
        os.close(reading)
        _answer(work, writing, lambda: _end_with(library, parent, patience))
    os.close(writing)
    try:
        answer = _read(reading, time.monotonic() + patience)
    finally:
        os.close(reading)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    if answer is None:
        return _late(patience)
    try:
        state, sentence = json.loads(answer)
    except ValueError:
        return "unknown", "The process in which torch.compile was tried ended without an answer."
    return state, sentence


def _end_with(library: ctypes.CDLL, parent: int, patience: float) -> None:
    """End this process with its parent (on Linux), and by an alarm when the time is up."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(math.ceil(patience) + 1)
    if sys.platform == "linux":
        library.prctl(_KILL_WITH_PARENT, int(signal.SIGKILL))
        if os.getppid() != parent:
            os._exit(1)


def _answer(work: Callable[[], CompileResult], writing: int, prepare: Callable[[], None]) -> None:
    """Main function of the child: write the result to the pipe and exit, also where ``prepare`` raises."""
    try:
        prepare()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for each in (1, 2):
            os.dup2(nowhere, each)
        warnings.simplefilter("ignore")
        sys.setrecursionlimit(max(sys.getrecursionlimit(), _RECURSION_LIMIT))
        try:
            said: Any = work()
        except Exception as error:  # noqa: BLE001
            said = _raises_before(error)
        os.write(writing, json.dumps(said).encode()[:_MAX_BYTES])
    finally:
        os._exit(0)


def _read(reading: int, until: float) -> bytes | None:
    """Everything written to the pipe up to its end; None if that takes too long."""
    said = b""
    while (left := until - time.monotonic()) > 0:
        if not select.select([reading], [], [], left)[0]:
            break
        chunk = os.read(reading, _MAX_BYTES)
        if not chunk:
            return said
        said += chunk
    return None
