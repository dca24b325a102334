"""Checks that run torch's own gradcheck and gradgradcheck; a failure is reported as a note, never as an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from textwrap import shorten

import torch
from torch.autograd.gradcheck import GradcheckError

from ...runtime.failure import describe_exception
from ...runtime.once_differentiable import declares_once
from ...runtime.timeouts import note_call_start
from ..examination.call import reset_seeds
from ..examination.probe import CheckFinding, Probe
from ..examination.session import CheckSession
from ..examination.torch_documentation import GRADCHECK

# With more elements than this they run in fast mode, which tests one random direction.
_ALL = 16
_LONGEST = 120


def _asked(checker: Callable[..., bool], name: str, at: CheckSession) -> Iterator[CheckFinding]:
    """Run a checker on the inputs of the call, which avoid the kinks of most Functions, with the seed fixed."""
    given = at.call.arguments()
    leaves = tuple(given.leaves.values())
    parameters = tuple(given.parameters.values())

    def call(*tensors: torch.Tensor) -> object:
        reset_seeds()
        note_call_start()
        found = at.call.callee(*(tensor * 1 for tensor in tensors), *parameters)
        return tuple(found) if isinstance(found, list) else found

    size = max(tensor.numel() for tensor in (*leaves, *at.first.ran.outputs.values())) if at.first.ran else 0
    mode = ", in its fast mode" if size > _ALL else ""
    try:
        reset_seeds()
        note_call_start()
        checker(call, leaves, fast_mode=size > _ALL)
    except GradcheckError as error:
        first = (str(error).strip().splitlines() or ["it does not say why"])[0].rstrip(" .,:;")
        yield CheckFinding(
            "note",
            f"{name} fails{mode}: {shorten(first, _LONGEST, placeholder=' …')}.",
            "",
            "It is a second opinion, and no judge.",
            None,
        )
    except Exception as error:  # noqa: BLE001 a result
        yield CheckFinding(
            "note", f"{name} cannot run: it met a {describe_exception(error)}.", "", "", at.source.line_of(error)
        )


def _gradcheck(at: CheckSession) -> Iterator[CheckFinding]:
    """Check: torch.autograd.gradcheck passes (first derivatives)."""
    yield from _asked(torch.autograd.gradcheck, "gradcheck", at)


def _gradgradcheck(at: CheckSession) -> Iterator[CheckFinding]:
    """Check: torch.autograd.gradgradcheck passes (second derivatives)."""
    if declares_once(at.function):
        yield CheckFinding("note", "Not asked: backward declares that it must not be differentiated.")
        return
    yield from _asked(partial(torch.autograd.gradgradcheck, gen_non_contig_grad_outputs=False), "gradgradcheck", at)


GRADCHECK_CHECKS = (
    Probe("GRADCHECK", "torch.autograd.gradcheck", GRADCHECK, "gradcheck passes.", _gradcheck),
    Probe("GRADGRADCHECK", "torch.autograd.gradgradcheck", GRADCHECK, "gradgradcheck passes.", _gradgradcheck),
)
