"""Checks that run torch's own gradcheck and gradgradcheck; a failure is reported as a note, never as an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from textwrap import shorten

import torch
from torch.autograd.gradcheck import GradcheckError

from ...runtime.failure import said
from ...runtime.once_differentiable import declares_once
from ...runtime.timeouts import begun
from ..examination.call import reseed
from ..examination.probe import Found, Probe
from ..examination.references import GRADCHECK
from ..examination.session import Examined

# With more elements than this they run in fast mode, which tests one random direction.
_ALL = 16
_LONGEST = 120


def _asked(checker: Callable[..., bool], name: str, at: Examined) -> Iterator[Found]:
    """Run a checker on the inputs of the call, which avoid the kinks of most Functions, with the seed fixed."""
    given = at.call.arguments()
    leaves = tuple(given.leaves.values())
    parameters = tuple(given.parameters.values())

    def call(*tensors: torch.Tensor) -> object:
        reseed()
        begun()
        found = at.call.callee(*(tensor * 1 for tensor in tensors), *parameters)
        return tuple(found) if isinstance(found, list) else found

    size = max(tensor.numel() for tensor in (*leaves, *at.first.ran.outputs.values())) if at.first.ran else 0
    mode = ", in its fast mode" if size > _ALL else ""
    try:
        reseed()
        begun()
        checker(call, leaves, fast_mode=size > _ALL)
    except GradcheckError as error:
        first = (str(error).strip().splitlines() or ["it does not say why"])[0].rstrip(" .,:;")
        yield Found(
            "note",
            f"{name} fails{mode}: {shorten(first, _LONGEST, placeholder=' …')}.",
            "",
            "It is a second opinion, and no judge.",
            None,
        )
    except Exception as error:  # noqa: BLE001 a result
        yield Found("note", f"{name} cannot run: it met a {said(error)}.", "", "", at.source.line_of(error))


def gradcheck(at: Examined) -> Iterator[Found]:
    """Check: torch.autograd.gradcheck passes (first derivatives)."""
    yield from _asked(torch.autograd.gradcheck, "gradcheck", at)


def _gradgradcheck(at: Examined) -> Iterator[Found]:
    """Check: torch.autograd.gradgradcheck passes (second derivatives)."""
    if declares_once(at.function):
        yield Found("note", "Not asked: backward declares that it must not be differentiated.")
        return
    yield from _asked(partial(torch.autograd.gradgradcheck, gen_non_contig_grad_outputs=False), "gradgradcheck", at)


CHECKERS = (
    Probe("GRADCHECK", "torch.autograd.gradcheck", GRADCHECK, "gradcheck passes.", gradcheck),
    Probe("GRADGRADCHECK", "torch.autograd.gradgradcheck", GRADCHECK, "gradgradcheck passes.", _gradgradcheck),
)
