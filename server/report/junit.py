"""The report as JUnit XML for CI servers: a suite for each target, a case for each gradient and each check."""

import platform
from collections.abc import Iterator
from itertools import groupby
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from ... import __version__
from ..figure.svg_elements import without_forbidden
from .findings import VERDICT_ID, WARNING_IDS, XrayFinding
from .result import CheckResult, Report


def junit_report(report: Report) -> bytes:
    """The XML of a report; a load error is the error of a case of its own."""
    root = Element("testsuites", name="gradloupe")
    for target, found in groupby(report.found, lambda each: each.checked.target):
        suite = _suite(root, target, report)
        for each in found:
            _cases(suite, each.checked, each.option)
    for trouble in report.troubles:
        suite = _suite(root, trouble.get("target") or ", ".join(report.targets), report)
        case = SubElement(suite, "testcase", classname="gradloupe", name="load", time="0")
        place = f"{trouble['file']}:{trouble['line']}" if trouble["line"] else ""
        text = "\n".join(filter(None, (trouble["sentence"], place, trouble["traceback"])))
        _outcome(case, "error", trouble["sentence"], trouble["kind"] or "Trouble", text)
    for suite in root:
        _count(suite)
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.get(name, 0)) for suite in root)))
    root.set("time", f"{report.seconds:.3f}")
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


def _suite(root: Element, target: str, report: Report) -> Element:
    suite = SubElement(root, "testsuite", name=_clean(target))
    properties = SubElement(suite, "properties")
    versions = {"gradloupe": __version__, "python": platform.python_version(), "torch": report.torch}
    for name, value in [*versions.items(), ("device", report.device), *(("note", each) for each in report.notes)]:
        SubElement(properties, "property", name=name, value=_clean(value))
    return suite


def _cases(suite: Element, result: CheckResult, option: str) -> None:
    faults = result.faults
    for id_ in dict.fromkeys([VERDICT_ID, *(each.id for each in result.findings), *(each.id for each in faults)]):
        named = {"classname": f"{result.target}.{result.name}", "name": f"{result.name}.{id_}", "time": "0"}
        case = SubElement(suite, "testcase", {name: _clean(text) for name, text in named.items()})
        if result.file:
            case.set("file", _clean(result.file))
            case.set("line", str(result.line))
        failures = [each for each in faults if each.id == id_]
        for each in failures[:1]:
            told = [f"{one.sentence}\n{result.place(one.line)}" for one in failures]
            text = "\n".join([*told, *[option] * bool(option)])
            _outcome(case, "failure", each.sentence, each.word, text)
        rows = [each for each in result.findings if each.id == id_ and not failures]
        if rows and id_ == "NOT-LOOKED-AT":
            SubElement(case, "skipped", message=_clean(rows[0].seen))
        elif lines := [*_called(result, id_ == VERDICT_ID), *_remarks(result, rows)]:
            SubElement(case, "system-out").text = _clean("\n".join(lines))


def _remarks(result: CheckResult, rows: list[XrayFinding]) -> list[str]:
    """Findings that are no failure, as lines of the output of a case."""
    told = [(each, ", ".join(filter(None, (each.level, result.excuse(each.id))))) for each in rows]
    return [f"{level}: {each.said}" for each, level in told if each.level != "fine"]


def _called(result: CheckResult, of_verdict: bool) -> Iterator[str]:
    """How it was called and what was found, as lines of the output of the case of the verdict; of others none."""
    if not of_verdict:
        return
    lines = [f"{result.word}: {result.sentence}", f"called as {result.recipe}" * bool(result.recipe)]
    lines += [f"{each.of} by {each.wrt} from {each.start:g} to {each.stop:g}: {each.word}" for each in result.sweeps]
    lines += [f"{each.of} by {each.wrt}: {each.proved.sentence}" for each in result.sweeps if each.proved]
    lines += [f"not swept: {result.left_out}"] * bool(result.left_out)
    lines += [
        f"{each.id}: {each.sentence}"
        for each in result.warnings
        if each.id in WARNING_IDS and each.sentence not in result.beyond
    ]
    lines += [*result.elsewhere, *["allowed to differ"] * result.allowed, *["known to differ"] * bool(result.known)]
    yield from filter(None, lines)


def _outcome(case: Element, kind: str, message: str, word: str, text: str) -> None:
    SubElement(case, kind, message=_clean(message), type=_clean(word)).text = _clean(text)


def _count(suite: Element) -> None:
    suite.set("tests", str(len(suite.findall("testcase"))))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("errors", str(len(suite.findall("testcase/error"))))
    suite.set("time", "0")


def _clean(text: str) -> str:
    return without_forbidden(str(text))
