"""What ``--allow`` forgives, by name of the Function."""

from collections.abc import Iterable, Iterator, Mapping

from ..protocol.listed import no_such_function
from .findings import DIFFERENCE_IDS, VERDICT_ID, WARNING_IDS
from .result import CheckResult


class UnknownAllowance(Exception):
    """A name of no check of a Function; the message lists those there are."""


def parse_allowlist(given: Iterable[str], names: list[str]) -> Mapping[str, frozenset[str]]:
    """Parse ``--allow``: the ids that are no failure, by name of the Function; names of none are left out.

    ``Name`` allows it to differ: the verdict, and those checks that follow from it. ``Name:ID`` allows only the check
    of that id; ``gradient`` is what ``GRADIENT`` was called once.
    """
    allowed = dict.fromkeys(names, frozenset[str]())
    for each in given:
        name, _, id_ = each.partition(":")
        if name in allowed:
            allowed[name] |= {VERDICT_ID if id_ == VERDICT_ID.lower() else id_} if id_ else DIFFERENCE_IDS
    return allowed


def absent_allowances(given: Iterable[str], names: list[str]) -> Iterator[str]:
    """A warning for each ``--allow`` that names no Function that was found: it may be in a file not looked at."""
    for each in given:
        if each.partition(":")[0] not in names:
            yield no_such_function(f"--allow {each}", names)


def check_allowed_ids(result: CheckResult, allowed: frozenset[str]) -> None:
    """Raise ``UnknownAllowance`` for an id that is none of the checks that were made."""
    ids = dict.fromkeys([VERDICT_ID, *(each.id for each in result.findings)])
    unknown = sorted(allowed - {*WARNING_IDS} - DIFFERENCE_IDS - ids.keys())
    if unknown and result.findings:
        culprit = f"--allow {result.name}:{unknown[0]}"
        raise UnknownAllowance(f"{culprit} names no check of {result.name}; there are {', '.join(ids)}.")
