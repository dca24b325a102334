"""All checks, in the order in which they run under time limits: nondeterminism before any that compares two calls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..runtime import timing
from ..runtime.failure import describe_exception
from ..runtime.timeouts import TookTooLong, time_limit
from .checks.cotangent import COTANGENT_CHECKS
from .checks.ctx import CTX_NAME_CHECKS, SAVED_STATE_CHECKS
from .checks.declaration import DECLARATION_CHECKS
from .checks.dtypes import DTYPE_CHECKS
from .checks.gradient import GRADCHECK_CHECKS, GRADIENT_CHECKS
from .checks.late_binding import LATE_BINDING_CHECKS
from .checks.outputs import OUTPUT_CHECKS
from .checks.rejected_gradients import REJECTED_GRADIENT_CHECKS
from .checks.second_order import SECOND_ORDER_CHECKS
from .checks.silent_corrections import SILENT_CORRECTION_CHECKS
from .checks.state import STATE_CHECKS
from .examination.contract_check import CheckFinding, CheckRow, ContractCheck, Level
from .examination.session import CheckSession

_FAMILIES: tuple[tuple[str, tuple[ContractCheck, ...]], ...] = (
    ("How it is written", (*DECLARATION_CHECKS, *CTX_NAME_CHECKS)),
    ("What forward returns", OUTPUT_CHECKS),
    ("What backward returns", REJECTED_GRADIENT_CHECKS),
    ("Determinism", (*STATE_CHECKS, *LATE_BINDING_CHECKS)),
    ("What backward returns", SILENT_CORRECTION_CHECKS),
    ("grad_output", COTANGENT_CHECKS),
    ("What backward returns", GRADIENT_CHECKS),
    ("What forward keeps", SAVED_STATE_CHECKS),
    ("Second derivatives", SECOND_ORDER_CHECKS),
    ("Numbers", DTYPE_CHECKS),
    ("torch's own checkers", GRADCHECK_CHECKS),
)
# budget: time limits in seconds: for all checks together, and for one of them.
_TOTAL_SECONDS, _CHECK_SECONDS = 4.0, 1.5
_HANGS = "the Function did not return"
SLOW = f"more than {_CHECK_SECONDS:g} s would be needed"
# pattern: a check that timed out counts as hung if its call ran this many times longer than the first call did.
_HUNG_RATIO = 30
_OUT_OF_TIME = "the Function takes too long for all checks"


def run_checks(session: CheckSession) -> tuple[CheckRow, ...]:
    """Run all checks: one row or more for each that could run, and a row that lists those that could not.

    Exceptions of the Function become rows.
    """
    until, missed = timing.now() + _TOTAL_SECONDS, dict[str, list[_Omission]]()
    rows = tuple(_rows(session, until, missed))
    return rows + tuple(_not_made(why, omitted) for why, omitted in missed.items())


@dataclass(frozen=True)
class _Omission:
    """A check that could not be made, why, and the last line of the user's that ran if it was interrupted."""

    id: str
    why: str
    place: str = ""


def _not_made(why: str, omitted: list[_Omission]) -> CheckRow:
    level: Level = "warning" if why.startswith(_HANGS) else "note"
    place = next((each.place for each in omitted if each.place), "")
    seen = f"{', '.join(each.id for each in omitted)}: {why}{place}."
    return CheckRow("NOT-LOOKED-AT", "Not looked at", level, "Checks that could not be made", seen)


def _rows(session: CheckSession, until: float, missed: dict[str, list[_Omission]]) -> Iterator[CheckRow]:
    for family, checks in _FAMILIES:
        for check in checks:
            found = _findings(session, check, until)
            if isinstance(found, _Omission):
                missed.setdefault(found.why, []).append(found)
                continue
            if any(each.level != "fine" for each in found):
                session.broken.add(check.id)
            for each in found:
                session.explained.update(each.explains)
                session.wrong.update(each.explains if each.level == "error" else ())
                yield check.row(family, each)


def _findings(session: CheckSession, check: ContractCheck, until: float) -> list[CheckFinding] | _Omission:
    """The results of one check, or the reason why it could not run."""
    left = until - timing.now()
    if left <= 0:
        return _Omission(check.id, _OUT_OF_TIME)
    try:
        with time_limit(min(left, _CHECK_SECONDS)):
            if lack := session.lacks(check.needs):
                return _Omission(check.id, lack)
            return list(check.run(session)) or [CheckFinding("fine", check.fine)]
    except TookTooLong as error:
        stuck = error.running > max(_CHECK_SECONDS / 2, _HUNG_RATIO * session.first.seconds)
        slow = SLOW if left > _CHECK_SECONDS else _OUT_OF_TIME
        return _Omission(check.id, f"{_HANGS} within {_CHECK_SECONDS:g} s" if stuck else slow, error.place)
    except Exception as error:  # noqa: BLE001 a Function may raise anything here
        seen = f"During this check the Function raised {describe_exception(error)}."
        return [CheckFinding("warning", seen, line=session.source.line_of(error))]
