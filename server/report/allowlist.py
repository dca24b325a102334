"""The allowlist ``--allow``: Functions that may differ, and checks of one that may fail."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .result import DIFFERENCE_IDS, VERDICT_ID, CheckResult

_MOST_NAMED = 20


class UnknownAllowance(Exception):
    """A name of no Function, or of no check of it; the message lists those there are."""


def parse_allowlist(given: Iterable[str], names: list[str]) -> Mapping[str, frozenset[str]]:
    """Parse ``--allow``: the ids that are no failure, by name of the Function; raises ``UnknownAllowance``.

    ``Name`` allows it to differ: the verdict, and those checks that follow from it. ``Name:ID`` allows only the check
    of that id, or only the verdict where it is ``gradient``.
    """
    allowed = dict.fromkeys(names, frozenset[str]())
    for each in given:
        name, _, id_ = each.partition(":")
        if name not in allowed:
            more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
            there = ", ".join(names[:_MOST_NAMED]) + more
            raise UnknownAllowance(f"--allow {each} names no Function that was found; there are {there}.")
        allowed[name] |= {id_} if id_ else {VERDICT_ID} | DIFFERENCE_IDS
    return allowed


def check_ids(found: CheckResult, allowed: frozenset[str]) -> None:
    """Raise ``UnknownAllowance`` for an id that is none of the checks that were made."""
    ids = dict.fromkeys([VERDICT_ID, *(each.id for each in found.findings)])
    strangers = sorted(allowed - {VERDICT_ID} - DIFFERENCE_IDS - ids.keys())
    if strangers and found.findings:
        culprit = f"--allow {found.name}:{strangers[0]}"
        raise UnknownAllowance(f"{culprit} names no check of {found.name}; there are {', '.join(ids)}.")
