"""The report as JSON, as JUnit and as SARIF: everything of every Function, and the same in each form."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from support.checked_files import Reports, ids

from gradloupe.server.config.settings import Settings
from gradloupe.server.report.command import write_report
from gradloupe.server.report.result import CheckResult, ExaminedFunction, Report, SweptSection, XrayFinding

NAMES = ["Cube", "Through", "Product", "Crash", "Riddle"]
ALLOWED = "failing.py --allow Luck,Twice:SECOND-ORDER,Last:GRADIENT"
STRICT = " ".join(f"warned.py:{name}" for name in ("Here", "Nearly", "Kept", "Row", "Late"))
RESULT = CheckResult(
    "Wrong",
    "differs",
    "backward is wrong.",
    "x: float64[7]",
    (SweptSection("x", "y", -3.0, 3.0, "differs", "backward is wrong.", line=12, fault=True),),
    (XrayFinding("GRADIENT", "What backward returns", "error", "The gradient", "It is 2, not 3.", line=12),),
)

LOST = replace(RESULT.sweeps[0], word="lost")


def parsed(report: str | bytes) -> ElementTree.Element:
    return ElementTree.fromstring(report)  # noqa: S314 - our own


def failed(junit: str) -> list[str | None]:
    return [case.get("name") for case in parsed(junit).iter("testcase") if case.find("failure") is not None]


def test_the_document_says_everything_of_every_function(folder: Path, reports: Reports) -> None:
    done = reports.forms("my_ops.py --check")["json"]
    assert (done.returncode, done.stderr) == (1, "")
    told = json.loads(done.stdout)
    assert (told["schema"], told["ok"], told["exit_code"], told["trouble"]) == (2, False, 1, None)
    assert told["targets"] == ["my_ops.py"]
    assert told["versions"].keys() == {"gradloupe", "python", "torch"}
    found = reports.found("my_ops.py --check")
    assert [*found] == NAMES
    words = {"Cube": "matches", "Through": "differs", "Product": "differs", "Crash": "lost", "Riddle": "unsolved"}
    assert {name: each["word"] for name, each in found.items()} == words
    assert [name for name, each in found.items() if each["ok"]] == ["Cube"]
    assert found["Riddle"]["tried"]


def test_a_difference_has_its_place_and_its_size_by_the_slope_there(folder: Path, reports: Reports) -> None:
    product = reports.found("my_ops.py --check")["Product"]
    assert product["recipe"] == "x: float64[7]; factor: float64[7]"
    assert sorted(each["word"] for each in product["sweeps"]) == ["differs", "matches"]
    worst = product["worst"]
    assert worst["analytical"] == pytest.approx(2 * worst["numerical"])
    assert worst["share"] == pytest.approx(1.0)
    assert worst["off"] == pytest.approx(abs(worst["numerical"]))
    assert ids(product["faults"]) == ["GRADIENT"]
    lines = (folder / "my_ops.py").read_text().splitlines()
    for fault in product["faults"]:
        assert fault["file"] == "my_ops.py"
        assert "100 % of the slope there" in fault["sentence"]
        assert "def backward" in lines[fault["line"] - 1] or "2 * g * x" in lines[fault["line"] - 1]


def test_junit_has_a_case_for_the_gradient_and_for_each_check(reports: Reports, folder: Path) -> None:
    junit = reports.forms("my_ops.py --check")["junit"].stdout
    root = parsed(junit)
    (suite,) = root
    assert suite.get("name") == "my_ops.py"
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    assert int(suite.get("tests", 0)) == len(cases) == int(root.get("tests", 0))
    assert {f"{name}.GRADIENT" for name in NAMES} <= cases.keys()
    assert failed(junit) == [f"{name}.GRADIENT" for name in NAMES[1:]]
    assert int(suite.get("failures", 0)) == len(failed(junit))
    assert re.search(r"my_ops.py:\d+", cases["Product.GRADIENT"].findtext("failure", ""))
    defined = (folder / "my_ops.py").read_text().splitlines()[int(cases["Through.GRADIENT"].get("line", 0)) - 1]
    assert defined == "class Through(torch.autograd.Function):"
    assert "Cube.NO-BACKWARD" in cases
    assert {each.get("name") for each in suite.iter("property")} == {"gradloupe", "python", "torch", "device"}


def test_a_gradient_that_is_wrong_out_of_the_sweeps_decides_the_word(reports: Reports) -> None:
    last = reports.found("failing.py --check")["Last"]
    assert (last["word"], [each["word"] for each in last["sweeps"]]) == ("differs", ["matches", "matches"])
    assert ids(last["faults"]) == ["GRADIENT"]
    assert "Last.GRADIENT" in failed(reports.forms("failing.py --check")["junit"].stdout)


@pytest.mark.parametrize("line", ["my_ops.py", "warned.py", ALLOWED])
def test_sarif_has_a_result_at_its_line_for_each_failure_and_each_warning(line: str, reports: Reports) -> None:
    (run,) = json.loads(reports.forms(f"{line} --check")["sarif"].stdout)["runs"]
    seen = [
        (each["ruleId"], each["level"], each["message"]["text"].partition(":")[0], place(each))
        for each in run["results"]
    ]
    found = reports.found(f"{line} --check").items()
    assert seen == [
        (one["id"], level, name, (one["file"], one["line"] or each["line"]))
        for name, each in found
        for kind, level in (("faults", "error"), ("warnings", "warning"))
        for one in each[kind]
        if one["id"] not in each["forgiven"]
    ]
    assert seen
    assert [each["id"] for each in run["tool"]["driver"]["rules"]] == sorted({each[0] for each in seen})
    assert run["invocations"][0]["executionSuccessful"]


def place(result: dict[str, Any]) -> tuple[str, int]:
    physical = result["locations"][0]["physicalLocation"]
    return physical["artifactLocation"]["uri"], physical["region"]["startLine"]


@pytest.mark.parametrize(("element", "inputs"), [("x[3]", ["x"]), ("weight[0,1]", ["x", "weight"])])
def test_a_wrong_gradient_is_one_failure_for_each_input_whoever_sees_it(element: str, inputs: list[str]) -> None:
    seen = replace(RESULT, findings=(replace(RESULT.findings[0], element=element),))
    assert [(each.id, each.input) for each in seen.faults] == [("GRADIENT", name) for name in inputs]
    assert replace(seen, forgiven=("GRADIENT",)).ok


def test_a_function_that_is_wrong_at_its_declared_default_or_just_beyond_the_range_differs(reports: Reports) -> None:
    found = reports.found("failing.py --check")
    assert (found["Scaled"]["word"], found["Scaled"]["recipe"]) == ("differs", "x: float64[7]; scale = 0.5")
    assert "scale is missing" in found["Scaled"]["faults"][0]["sentence"]
    assert (found["Ramp"]["word"], ids(found["Ramp"]["faults"])) == ("differs", ["GRADIENT"])
    assert "for x > 5" in found["Ramp"]["sentence"]
    assert (found["Luck"]["word"], ids(found["Luck"]["faults"])) == ("undecided", ["GRADIENT"])
    assert (found["Twice"]["word"], ids(found["Twice"]["faults"])) == ("matches", ["SECOND-ORDER"])


@pytest.mark.parametrize(
    ("name", "word", "warnings"),
    [
        ("Here", "matches here", ["remark"]),
        ("Kept", "matches", ["CTX-TENSOR", "SECOND-ORDER"]),
        ("Nearly", "matches", ["remark"]),
        ("Picky", "matches", ["default"]),
        ("Late", "matches", ["LATE-READ"]),
        ("Chance", "matches", []),
        ("Row", "matches", ["backward"]),
        ("Guessed", "matches", []),
        ("Column", "matches", []),
        ("Share", "matches here", ["remark"]),
    ],
)
def test_what_might_matter_to_somebody_else_is_a_warning(
    name: str, word: str, warnings: list[str], reports: Reports
) -> None:
    found = reports.found("warned.py --check")[name]
    assert (found["word"], found["ok"], ids(found["warnings"])) == (word, True, warnings)


def test_a_warning_says_what_it_is_about(reports: Reports) -> None:
    found = reports.found("warned.py --check")
    assert found["Here"]["sweeps"][0]["beyond"].startswith("Outside this range")
    assert found["Nearly"]["sweeps"][0]["remark"]["share"] == pytest.approx(1e-10, rel=0.1)
    assert found["Picky"]["left"][0][0] == "scale"
    assert found["Picky"]["left"][0][1] in found["Picky"]["sentence"]
    assert "`x: float64[7]; s: float64[7] nograd`" in found["Row"]["passed_over"]
    assert found["Row"]["passed_over"] in found["Row"]["sentence"]
    junit = {case.get("name"): case for case in parsed(reports.forms("warned.py --check")["junit"].stdout).iter()}
    for name, said in (("Here", "Outside this range"), ("Nearly", "remark: y by x"), ("Row", "backward: forward runs")):
        assert junit[f"{name}.GRADIENT"].findtext("system-out", "").count(said) == 1


def test_who_is_strict_is_failed_by_warnings_that_are_not_allowed(reports: Reports) -> None:
    line = f"{STRICT} --check --strict --allow Nearly:remark,Kept:CTX-TENSOR,Row:backward"
    assert {each.returncode for each in reports.forms(line).values()} == {1}
    faults = {name: ids(each["faults"]) for name, each in reports.found(line).items() if not each["ok"]}
    assert faults == {"Here": ["remark"], "Kept": ["SECOND-ORDER"], "Late": ["LATE-READ"]}
    assert failed(reports.forms(line)["junit"].stdout)[:2] == ["Here.remark", "Kept.SECOND-ORDER"]
    assert reports.forms(line)["text"].stdout.count("Outside this range backward differs") == 1


def test_what_is_allowed_is_no_failure_and_is_said_to_be_allowed(reports: Reports) -> None:
    found = reports.found(f"{ALLOWED} --check")
    assert [name for name, each in found.items() if each["ok"]] == ["Twice", "Luck", "Last"]
    table = reports.forms(f"{ALLOWED} --check")["text"].stdout
    assert table.count("differs, allowed") == 1
    assert "undecided, allowed" in table
    assert "SECOND-ORDER, allowed" in table


def test_a_wrong_gradient_is_allowed_by_one_name(reports: Reports) -> None:
    for name in ("gradient", "GRADIENT"):
        (product,) = reports.found(f"my_ops.py:Product --check --allow Product:{name}").values()
        assert ids(product["faults"]) == []


@pytest.mark.parametrize(
    ("report", "code"),
    [
        (Report(("a",), (ExaminedFunction(RESULT),)), 1),
        (Report(("a",), (ExaminedFunction(replace(RESULT, forgiven=("GRADIENT",))),)), 0),
        (Report(("a",), (ExaminedFunction(replace(RESULT, claim="broken")),)), 0),
        (Report(("a",), (ExaminedFunction(CheckResult("Riddle", "unsolved", "No.")),)), 2),
        (Report(("a",), (ExaminedFunction(RESULT), ExaminedFunction(CheckResult("Riddle", "unsolved", "No.")))), 1),
        (Report(("a",), (ExaminedFunction(replace(RESULT, word="lost", sweeps=(LOST,), findings=())),)), 2),
        (Report(("a",)), 0),
    ],
    ids=["wrong", "allowed", "a specimen", "not judged", "one judged", "lost", "none"],
)
def test_the_exit_code_says_what_is_wrong(
    report: Report, code: int, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert write_report(report, Settings(check=True, format="json")) == code
    assert json.loads(capsysbinary.readouterr().out)["exit_code"] == code


def test_what_xml_has_no_place_for_is_replaced(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    trouble: Any = {"sentence": "no \x1b", "kind": "E", "file": "", "line": None, "excerpt": [], "traceback": ""}
    odd = ExaminedFunction(replace(RESULT, sentence="a\x00b", name="<&>"))
    for report in (Report(("a",), (odd,)), Report(("a",), (), (trouble,))):
        write_report(report, Settings(check=True, format="junit"))
        assert parsed(capsysbinary.readouterr().out).get("name") == "gradloupe"
