"""Registry of all checks, in the order in which they run: those for nondeterminism come before any that compares two
calls. Each runs under a time limit.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..runtime import timing
from ..runtime.failure import said
from ..runtime.timeouts import TookTooLong, within
from .checks.cotangent import HANDED
from .checks.ctx import KEPT, NAMES
from .checks.declaration import DECLARED
from .checks.dtypes import NUMBERS
from .checks.gradcheck import CHECKERS
from .checks.gradient import GRADIENT
from .checks.inputs_edited import EDITED
from .checks.late_binding import LATE
from .checks.outputs import OUTPUTS
from .checks.randomness import DRAWN
from .checks.rejected_gradients import REFUSED
from .checks.second_order import SECOND
from .checks.silent_corrections import RETURNED
from .checks.state import REPEATABLE
from .checks.unused_outputs import SILENT
from .examination.probe import Check, Found, Level, Probe
from .examination.session import Examined

_FAMILIES: tuple[tuple[str, tuple[Probe, ...]], ...] = (
    ("How it is written", (*DECLARED, *NAMES)),
    ("What forward returns", (*EDITED, *OUTPUTS)),
    ("What backward returns", REFUSED),
    ("Does it repeat itself", (*DRAWN, *REPEATABLE, *LATE)),
    ("What backward returns", (*RETURNED, *SILENT)),
    ("What backward is handed", HANDED),
    ("What backward returns", GRADIENT),
    ("What forward keeps", KEPT),
    ("Second derivatives", SECOND),
    ("Numbers", NUMBERS),
    ("torch's own checkers", CHECKERS),
)
# Time limits in seconds: for all checks together, and for one of them.
_ALL, _ONE = 4.0, 1.5
HANGS = "the Function was not back"
SLOW = f"more than {_ONE:g} s would be needed"
# A check that timed out counts as hung if its call ran this many times longer than the first call did.
_TIMES = 30
LATE_NOW = "the Function takes too long for all checks"


def checks(at: Examined) -> tuple[Check, ...]:
    """Run all checks: one row or more for each that could run, and a row that lists those that could not.

    Exceptions of the Function become rows.
    """
    until, missed = timing.now() + _ALL, dict[str, list[str]]()
    rows = tuple(_all(at, until, missed))
    return rows + tuple(_not_made(why, ids) for why, ids in missed.items())


def _not_made(why: str, ids: list[str]) -> Check:
    level: Level = "warning" if why.startswith(HANGS) else "note"
    return Check("NOT-LOOKED-AT", "Not looked at", level, "Checks that could not be made", f"{', '.join(ids)}: {why}.")


def _all(at: Examined, until: float, missed: dict[str, list[str]]) -> Iterator[Check]:
    for family, probes in _FAMILIES:
        for probe in probes:
            found = _found(at, probe, until)
            if isinstance(found, str):
                missed.setdefault(found, []).append(probe.id)
                continue
            if any(each.level != "fine" for each in found):
                at.broken.add(probe.id)
            for each in found:
                yield probe.row(family, each)


def _found(at: Examined, probe: Probe, until: float) -> list[Found] | str:
    """The results of one check, or the reason why it could not run."""
    left = until - timing.now()
    if left <= 0:
        return LATE_NOW
    try:
        with within(min(left, _ONE)):
            return at.lacks(probe.needs) or list(probe.ask(at)) or [Found("fine", probe.fine)]
    except TookTooLong as error:
        stuck = error.running > max(_ONE / 2, _TIMES * at.first.seconds)
        return f"{HANGS} after {_ONE:g} s" if stuck else SLOW if left > _ONE else LATE_NOW
    except Exception as error:  # noqa: BLE001 a Function may raise anything here
        seen = f"While this was looked at, the Function raised {said(error)}."
        return [Found("warning", seen, line=at.source.line_of(error))]
