"""The contract X-ray: every check, family by family, on one working call of an op."""

from __future__ import annotations

import contextlib
import io
import warnings
from dataclasses import dataclass

import torch

from ..failure import Failure, failure_of
from ..section import Section
from . import badged
from .call import Call
from .capabilities import Badge, badges
from .checks import checks
from .examined import Examined
from .finding import Check, Raw
from .patience import TookTooLong, within
from .points import runs
from .randomness import undisturbed
from .raw import raw

# Seconds for finding numbers to call with, and for the badges; torch.compile alone takes five.
BEGIN, BADGES, COMPILING = 1.5, 1.5, 7.0


@dataclass(frozen=True)
class Contract:
    """The ``checks`` by family, the ``badges``, and what backward returned ``raw`` beside what was delivered.

    ``failure`` is what forward raised, if it did.
    """

    checks: tuple[Check, ...]
    badges: tuple[Badge, ...]
    raw: tuple[Raw, ...]
    failure: Failure | None = None


def contract(section: Section, reach: tuple[float, float] | None = None, compiled: bool = False) -> Contract:
    """Put every check to the op of a section, with all else held where it is. Raises nothing a Function raises.

    Everything is asked in double precision on the CPU, whatever the section is in.

    ``reach`` is the interval of the swept input from which numbers are taken. torch.compile is only tried where
    ``compiled`` says so. A Function that does not come back is interrupted, and the whole takes no more than about
    8 seconds. What it prints is dropped.
    """
    section = section.at(torch.float64, "cpu")
    domain = next((each.domain for each in section.op.inputs if each.name == section.wrt), (-3.0, 3.0))
    with undisturbed(), warnings.catch_warnings(action="ignore"), contextlib.redirect_stdout(Nowhere()):
        at = Examined(section, _call(section, reach), reach or domain)
        rows = checks(at)
        given = _badges(at, compiled)
        return Contract((*rows, *badged.rows(at, given)), given, raw(at), _failure(at))


class Nowhere(io.TextIOBase):
    """Where a Function may print as much as it likes."""

    def write(self, text: str) -> int:
        """Forget it."""
        return len(text)


def _call(section: Section, reach: tuple[float, float] | None) -> Call:
    """The call; in single precision where the Function takes no other."""
    try:
        with within(BEGIN):
            call = Call.of(section, reach)
            shorter = call.holding({name: tensor.float() for name, tensor in call.tensors.items()})
            return shorter if not runs(call) and runs(shorter) else call
    except TookTooLong:
        return Call.plain(section)


def _badges(at: Examined, compiled: bool) -> tuple[Badge, ...]:
    """The badges; none where the Function raises what cannot even be said, or does not come back."""
    try:
        with within(COMPILING if compiled else BADGES):
            return badges(at.section, at.call, compiled)
    except (Exception, TookTooLong):  # noqa: BLE001
        return ()


def _failure(at: Examined) -> Failure | None:
    error = at.first.error if at.first.failed == "forward" else None
    return failure_of(error, at.section.op, "forward").failure if isinstance(error, Exception) else None
