"""The result of torch's own gradgradcheck on a section; it is shown beside the verdict and does not enter it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from textwrap import shorten
from typing import Any

import torch
from torch.autograd.gradcheck import GradcheckError

from ...protocol.listed import listed, with_article
from ...runtime import timing
from ...runtime.arrays import Array
from ...runtime.call_cost import estimated_seconds
from ...runtime.graph import input_leaf
from ...runtime.section import Section
from ...runtime.user_call import call_user_code
from ..formatting.numbers import format_number

_SEED = 0  # sample: the seed of its grad_output
# budget: the most elements that are checked, and the most for which each is checked and not only a random direction.
_MAX_ELEMENTS, _MAX_EXHAUSTIVE = 1024, 16
_SECONDS, _SLOW_CALL = 0.5, 0.01  # budget: no point is begun later than that after the first, no slower call tried
_MAX_MESSAGE = 120  # budget: characters of what was raised


@dataclass(frozen=True)
class _Result:
    """Whether gradgradcheck ``passed`` at every point it was run at (None: it was not run), and that in a sentence."""

    passed: bool | None
    sentence: str


def gradgradcheck(section: Section, points: Array, name: str, span: float) -> _Result:
    """Run ``torch.autograd.gradgradcheck`` with what is swept at each of a few ``points``, the only input with a grad.

    In double precision on the CPU, with tolerances and steps of its own and a seeded ``grad_output`` for all of the
    output. No other point is begun half a second after the first, and none with a Function that takes 10 ms.
    ``name`` is the name of what is swept, ``span`` the range.
    """
    if not points.size:
        return _Result(None, "torch.autograd.gradgradcheck was not run: no point lies off the kinks and jumps.")
    section, deadline, passed = section.at(torch.float64, "cpu"), math.inf, list[str]()
    for t in points.tolist():
        if timing.now() > deadline:
            break
        at = f"{name} = {format_number(t, span)}"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it is only asked what it says
                reason = _run(section, t)
        except GradcheckError as error:
            return _Result(False, f"torch.autograd.gradgradcheck fails at {at}: {_first_line(error)}.")
        except Exception as error:  # noqa: BLE001 whatever the Function raises
            problem = f"{with_article(type(error).__name__)}: {_first_line(error)}"
            return _Result(False, f"torch.autograd.gradgradcheck cannot run at {at}, where it met {problem}.")
        if reason:
            return _Result(None, f"torch.autograd.gradgradcheck was not run: {reason}.")
        # The first time torch has much to load, which is no fault of the Function's.
        deadline = min(deadline, timing.now() + _SECONDS)
        passed.append(format_number(t, span))
    return _Result(True, f"torch.autograd.gradgradcheck passes at {name} = {listed(passed)}.")


def _run(section: Section, t: float) -> str:
    """Why it was not run, empty if it was and passed. Raises what it raises."""
    swept, call = _call(section, t)
    out = call(swept)
    if estimated_seconds(partial(call, swept)) > _SLOW_CALL:
        return "it would take too long with a Function as slow as this"
    size = max(swept.numel(), out.numel())
    if size > _MAX_ELEMENTS:
        return f"it would take too long for {size} elements"
    random = torch.Generator().manual_seed(_SEED)
    grad_output = torch.randn(out.shape, generator=random, dtype=out.dtype).requires_grad_()
    call_user_code(torch.autograd.gradgradcheck, call, (swept,), (grad_output,), fast_mode=size > _MAX_EXHAUSTIVE)
    return ""


def _call(section: Section, t: float) -> tuple[torch.Tensor, Callable[[torch.Tensor], torch.Tensor]]:
    tensors = {name: input_leaf(section, name, values, t).detach() for name, values in section.inputs}
    swept = tensors[section.wrt].requires_grad_()

    def call(x: torch.Tensor) -> torch.Tensor:
        tensors[section.wrt] = x.clone()  # a Function that works in place refuses a leaf
        arguments: list[Any] = [tensors[name].clone() for name, _ in section.inputs]
        return section.output(section.call(*arguments, *(value for _, value in section.parameters)))

    return swept, call


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or ["no message"]
    return shorten(lines[0].rstrip(".,: "), _MAX_MESSAGE, placeholder=" …")
