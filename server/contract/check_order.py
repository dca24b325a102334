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
# budget: the share of the time left after the first call that all checks may take. One of them may take so many
# seconds, or calls like the first; where there is no time for a call, so little that only those end which make none.
_SHARE, _CHECK_SECONDS, _CALLS, _NO_CALL = 0.5, 1.5, 4.0, 0.03
# pattern: a check that timed out counts as hung if its call ran this many times longer than the first call did.
_HUNG_RATIO = 30
_OUT_OF_TIME = "the Function takes too long for all checks"
_SLOW = 0.1  # unit: from so many seconds on it is said how long a call takes


def run_checks(session: CheckSession) -> tuple[CheckRow, ...]:
    """Run all checks: one row or more for each that could run, and a row that lists those that could not.

    Exceptions of the Function become rows.
    """
    missed, first = dict[str, list[_Omission]](), session.first.seconds
    until = timing.now() + _SHARE * (session.until - timing.now())
    rows = tuple(_rows(session, until, missed))
    return rows + tuple(_not_made(why, omitted, first) for why, omitted in missed.items())


@dataclass(frozen=True)
class _Omission:
    """A check that could not be made, why, whether that is ``grave``, as the Function is slow or hangs, and not only
    the check takes long; and the last line of the user's that ran if it was interrupted.
    """

    id: str
    why: str
    grave: bool
    place: str = ""


def _not_made(why: str, omitted: list[_Omission], first: float) -> CheckRow:
    level: Level = "warning" if any(each.grave for each in omitted) else "note"
    place = next((each.place for each in omitted if each.place), "")
    count, ids = sum(len(checks) for _, checks in _FAMILIES), ", ".join(each.id for each in omitted)
    took = f"; the first call took {first:.1g} s" if why == _OUT_OF_TIME and first > _SLOW else ""
    seen = f"{len(omitted)} of {count}, {ids}: {why}{took}{place}."
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
    left, first = until - timing.now(), session.first
    most = max(_CHECK_SECONDS, _CALLS * first.seconds)
    limit = min(left, most) if left > first.seconds else _NO_CALL
    try:
        with time_limit(limit):
            if lack := session.lacks(check.needs):
                return _Omission(check.id, lack, isinstance(first.error, TookTooLong))
            return list(check.run(session)) or [CheckFinding("fine", check.fine)]
    except TookTooLong as error:
        if limit < most:
            return _Omission(check.id, _OUT_OF_TIME, True)
        stuck = error.running > max(most / 2, _HUNG_RATIO * first.seconds)
        why = f"the Function did not return within {most:.2g} s" if stuck else f"more than {most:.2g} s would be needed"
        return _Omission(check.id, why, stuck, error.place)
    except Exception as error:  # noqa: BLE001 a Function may raise anything here
        seen = f"During this check the Function raised {describe_exception(error)}."
        return [CheckFinding("warning", seen, line=session.source.line_of(error))]
