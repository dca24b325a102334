"""What does not fail a check: the findings that are known, from a file, so that only new ones fail; and what
``--allow`` forgives, by name of the Function.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path

import orjson

from ..protocol.listed import no_such_function
from .findings import DIFFERENCE_IDS, VERDICT_ID, WARNING_IDS
from .result import CheckResult, ExaminedFunction, Report

_SCHEMA = 1


class BadBaseline(Exception):
    """A file that is no baseline; the message is one sentence that also says what to do."""


@dataclass(frozen=True, order=True)
class KnownFinding:
    """A finding without its line and size, which change: the check that failed, with what word, and for which input."""

    file: str
    function: str
    check: str
    word: str
    input: str


Baseline = frozenset[KnownFinding]


def read_baseline(path: str, anew: bool) -> Baseline:
    """The findings in a file; none where it is written ``anew`` and not there. Raises ``BadBaseline``."""
    try:
        document = orjson.loads(Path(path).read_bytes())
        known = frozenset(KnownFinding(**each) for each in document["findings"])
        if document["schema"] != _SCHEMA or not all(isinstance(text, str) for each in known for text in astuple(each)):
            raise ValueError("of another kind")
    except FileNotFoundError:
        if anew:
            return frozenset()
        raise BadBaseline(f"There is no {path}; add --write-baseline to write it.") from None
    except OSError as problem:
        raise BadBaseline(f"{path} cannot be read: {problem.strerror}.") from None
    except (ValueError, TypeError, KeyError):
        raise BadBaseline(f"{path} is no baseline; name another file, or remove it and add --write-baseline.") from None
    return known


def baseline_of(report: Report, before: Baseline) -> Baseline:
    """The findings of a report, and those ``before`` of what it did not look at."""
    return frozenset(_failures(report)) | {each for each in before if not _looked_at(report, each)}


def baseline_text(known: Baseline) -> bytes:
    """The file of these findings, in an order of their own, each on a line."""
    names = [each.name for each in fields(KnownFinding)]
    lines = [orjson.dumps(dict(zip(names, astuple(each), strict=True))) for each in sorted(known)]
    return b'{"schema": %d, "findings": [\n%s\n]}\n' % (_SCHEMA, b",\n".join(lines))


def with_baseline(report: Report, known: Baseline, path: str) -> Report:
    """The report in which what is known is no failure, with notes on how much that is and on what is not found any
    more."""
    failures = frozenset(_failures(report))
    count, stale = len(failures & known), sorted({each for each in known if _looked_at(report, each)} - failures)
    notes = [f"{count} finding{'s are' if count > 1 else ' is'} known from {path}."] * bool(count)
    notes += [
        f"{path} lists {each.check} ({', '.join(filter(None, (each.word, each.input)))}) of {each.function} in "
        f"{each.file}, which is not found any more; --write-baseline leaves it out."
        for each in stale
    ]
    found = tuple(replace(each, checked=_excused(each, known)) for each in report.found)
    return replace(report, found=found, notes=(*report.notes, *notes))


def _excused(examined: ExaminedFunction, known: Baseline) -> CheckResult:
    keys = (each.key for each in examined.checked.faults if KnownFinding(*_place(examined), *each.key) in known)
    return replace(examined.checked, known=tuple(keys))


def _failures(report: Report) -> Iterator[KnownFinding]:
    for each in report.found:
        yield from (KnownFinding(*_place(each), *fault.key) for fault in each.checked.faults)


def _place(examined: ExaminedFunction) -> tuple[str, str]:
    """The file of a Function, or what it was found in where that is not below this folder, and its name there."""
    result = examined.checked
    file = result.file if os.path.exists(result.file) else result.target
    return Path(file).as_posix(), examined.op["bound"] if examined.op else result.name


def _looked_at(report: Report, known: KnownFinding) -> bool:
    """Whether a report would have that finding: its Function was examined, or its file was; or its file is gone."""
    places = {_place(each) for each in report.found}
    whole = {Path(os.path.normpath(each)).as_posix() for each in report.targets if each.endswith(".py")}
    gone = known.file.endswith(".py") and not os.path.exists(known.file)
    return gone or known.file in whole or (known.file, known.function) in places


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
