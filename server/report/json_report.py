"""The report as JSON, in a stable format.

``schema`` is raised when the meaning of a member changes; within one, members are only added. Numbers that are not
finite, such as the gradient at a pole, are null.
"""

import platform
from dataclasses import asdict
from typing import Any

import orjson

from ... import __version__
from .result import ExaminedFunction, Report

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
