"""What ``--allow`` forgives, by name of the Function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..protocol.suggest import no_such_function
from .result import CheckResult
from .words import DIFFERENCE_IDS, VERDICT_ID, WARNING_IDS


class UnknownAllowance(Exception):
    """A name of no check of a Function; the message lists those there are."""


def parse_allowlist(given: Iterable[str], names: list[str]) -> Mapping[str, frozenset[str]]:
    """Parse ``--allow``: the ids that are no failure, by name of the Function; names of none are left out.

    ``Name`` allows it to differ: the verdict, and those checks that follow from it. ``Name:ID`` allows only the check
    of that id; ``gradient`` and ``GRADIENT`` are the verdict and the check of the same.
    """
    allowed = dict.fromkeys(names, frozenset[str]())
    for each in given:
        name, _, id_ = each.partition(":")
        if name in allowed:
            allowed[name] |= _ids(id_)
    return allowed


def _ids(id_: str) -> frozenset[str]:
    """The ids that one allowance forgives: the verdict and the check of the X-ray that asks the same are one."""
    if not id_:
        return DIFFERENCE_IDS | {VERDICT_ID}
    return frozenset((VERDICT_ID, VERDICT_ID.upper()) if id_.lower() == VERDICT_ID else (id_,))


def absent_allowances(given: Iterable[str], names: list[str]) -> Iterator[str]:
    """A warning for each ``--allow`` that names no Function that was found: it may be in a file not looked at."""
    for each in given:
        if each.partition(":")[0] not in names:
            yield no_such_function(f"--allow {each}", names)


def check_allowed_ids(result: CheckResult, allowed: frozenset[str]) -> None:
    """Raise ``UnknownAllowance`` for an id that is none of the checks that were made."""
    ids = dict.fromkeys([VERDICT_ID, *(each.id for each in result.findings)])
    unknown = sorted(allowed - {VERDICT_ID, *WARNING_IDS} - DIFFERENCE_IDS - ids.keys())
    if unknown and result.findings:
        culprit = f"--allow {result.name}:{unknown[0]}"
        raise UnknownAllowance(f"{culprit} names no check of {result.name}; there are {', '.join(ids)}.")
