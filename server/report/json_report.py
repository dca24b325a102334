"""The report as JSON, in a stable format.

``schema`` is raised when the meaning of a member changes; within one, members are only added. Numbers that are not
finite, such as the gradient at a pole, are null.
"""

import platform
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

import orjson

from ... import __version__
from .findings import VERDICT_ID, WARNING_IDS
from .result import CheckFailure, ExaminedFunction, Report

_SCHEMA = 2


def json_report(report: Report) -> bytes:
    """The JSON text of a report.

    ``schema``, ``ok``, ``exit_code``, ``targets``, ``versions`` (gradloupe, python, torch), ``device``, ``seconds``;
    ``trouble``, null or the first load error (sentence, kind, file, line, excerpt, traceback), and ``troubles``, all of
    them; ``notes`` on what the files do when they are loaded; ``functions``, for each the members of ``CheckResult``
    with sweeps and findings, with ``ok``, the ``faults`` (id, sentence, file, line) that make it fail and the
    ``warnings`` that do so with ``strict``; and where it could not be called what was ``tried``, and the ``option`` to
    type.
    """
    document = {
        "schema": _SCHEMA,
        "ok": report.code == 0,
        "exit_code": report.code,
        "targets": list(report.targets),
        "versions": {"gradloupe": __version__, "python": platform.python_version(), "torch": report.torch or None},
        "device": report.device or None,
        "seconds": round(report.seconds, 3),
        "trouble": report.troubles[0] if report.troubles else None,
        "troubles": list(report.troubles),
        "notes": list(report.notes),
        "functions": [_function(each) for each in report.found],
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _function(examined: ExaminedFunction) -> dict[str, Any]:
    result, contract = examined.checked, examined.contract
    fields = asdict(result)
    return {
        **{name: fields.pop(name) for name in ("name", "target", "file", "line", "claim", "declared")},
        "allowed": result.allowed,
        "ok": result.ok,
        **fields,
        "worst": asdict(result.worst) if result.worst else None,
        "intervals": result.intervals,
        "faults": [asdict(each) | {"file": result.file} for each in result.faults],
        "warnings": [asdict(each) | {"file": result.file} for each in result.warnings],
        "xray": contract["sentence"] if contract else None,
        "badges": contract["badges"] if contract else [],
        "tried": examined.tried,
        "option": examined.option,
    }


_OF_VERDICT = "backward is the derivative of forward, or of its surrogate."
_OF_CALL = {
    **dict.fromkeys(WARNING_IDS, "The call, and small differences: no failure, but for who is strict."),
    VERDICT_ID: _OF_VERDICT,
}


def sarif_report(report: Report) -> bytes:
    """The SARIF text of a report; load errors are notifications of a run that did not succeed."""
    titles = {each.id: each.title for one in report.found for each in one.checked.findings} | _OF_CALL
    results = [result for each in report.found for result in _results(each)]
    rules = sorted({each["ruleId"] for each in results})
    driver = {
        "name": "Gradloupe",
        "version": __version__,
        "rules": [{"id": id_, "shortDescription": {"text": titles[id_]}} for id_ in rules],
    }
    run = {"tool": {"driver": driver}, "invocations": [_invocation(report)], "results": results}
    return orjson.dumps({"version": "2.1.0", "runs": [run]}, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _invocation(report: Report) -> dict[str, Any]:
    """Whether all was loaded, and what was not; what there is to note is a notification, too."""
    troubles = [
        {"level": "error", "message": {"text": each["sentence"]}}
        | ({"locations": [_location(each["file"], each["line"] or 1)]} if each["file"] else {})
        for each in report.troubles
    ]
    notes = [{"level": "note", "message": {"text": each}} for each in report.notes]
    done = {"executionSuccessful": not report.troubles, "exitCode": report.code}
    return {**done, "toolExecutionNotifications": [*troubles, *notes]}


def _results(examined: ExaminedFunction) -> Iterator[dict[str, Any]]:
    result = examined.checked
    faults = result.faults
    warned = [each for each in result.warnings if each not in faults and not result.excuse(each.id)]
    told = [(each, "error") for each in faults] + [(each, "warning") for each in warned]
    for each, level in told:
        yield {
            "ruleId": each.id,
            "level": level,
            "message": {"text": _message(each, examined)},
            "locations": [
                _location(result.file or result.target, each.line or result.line or 1)
                | {"logicalLocations": [{"fullyQualifiedName": f"{result.target}.{result.name}", "kind": "type"}]}
            ],
        }


def _message(failure: CheckFailure, examined: ExaminedFunction) -> str:
    proved = examined.checked.refutations if failure.id == VERDICT_ID else ()
    called = f"Called as `{examined.checked.recipe}`." if examined.checked.recipe else examined.option
    return " ".join(filter(None, (f"{examined.checked.name}: {failure.sentence}", *proved[:1], called)))


def _location(file: str, line: int) -> dict[str, Any]:
    address = {"uri": quote(PurePath(file).as_posix())}
    return {"physicalLocation": {"artifactLocation": address, "region": {"startLine": line}}}
