"""Summarizes the answers about one Function as a ``CheckResult``."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import TypeGuard

from ..protocol.load_error import source_lines
from ..schema.op import OpDescription, OpStub, is_described
from ..schema.section import FailureRecord, SectionRecord
from ..schema.verdict_words import FAILING_WORDS
from ..schema.views import NO_CAUSE, CheckRecord, ContractRecord, ProofRecord
from .findings import (
    LOST_ID,
    VERDICT_ID,
    ProvedShare,
    SmallDifference,
    SweptSection,
    WorstPoint,
    XrayFinding,
    deciding_finding,
    gravest_sweep,
    input_of,
)
from .result import CheckResult

# A difference beyond the range counts in full where it begins within so many times the range: tensors hold such
# numbers.
_NEAR = 10.0

# What one element shows may be a part of what all show: then the cause of all gradients of that input is told.
_OF_ONE_ELEMENT = ("unexplained", "constant factor")
_OPEN = ("lost", "unsolved", "undecided")
_AGAIN = "It was run twice, the second time alone."


def summarize(
    op: OpDescription,
    curves: Sequence[SectionRecord],
    contract: ContractRecord | None,
    allowed: Collection[str],
    unswept: Sequence[str],
    strict: bool,
    proofs: Sequence[ProofRecord] = (),
) -> CheckResult:
    """The result from the headers of ``curves``, those of the default section first, and of the ``contract``.

    ``allowed`` are the ids that are no failure, ``GRADIENT`` that of the verdict. ``unswept`` are the inputs that
    were not swept though they have a gradient. ``strict`` makes failures of warnings. ``proofs`` say what is proved of
    the same sections.
    """
    pairs = enumerate(zip_longest(curves, proofs[: len(curves)]))
    findings = _findings(op, contract) if contract else ()
    causes = {
        each.input: each.advice
        for each in findings
        if (each.id, each.level) == (VERDICT_ID, "error") and not each.advice.startswith(NO_CAUSE)
    }
    sweeps = tuple(_swept(op, header, number, proof, causes) for number, (header, proof) in pairs if header)
    gravest = gravest_sweep(sweeps)
    assert gravest is not None
    accused = deciding_finding(sweeps, findings, op["claim"])
    word, sentence = ("differs", _accusation(accused)) if accused else (gravest.word, gravest.sentence)
    lost = contract["failure"] if contract else None
    if is_lost(lost) and word not in FAILING_WORDS:
        word, sentence = "lost", lost["sentence"]
    if unswept and word not in FAILING_WORDS:
        word, sentence = (
            "undecided",
            f"Not every input was swept: {', '.join(unswept)} not. Of those that were: {sentence}",
        )
    passed_over = op["passed_over"]
    of_call = [*(said for _, said in op["left"]), *[f"But {passed_over}"] * bool(passed_over)]
    return CheckResult(
        name=op["name"],
        word=word,
        sentence=" ".join([sentence, *of_call]) if word.startswith("matches") else sentence,
        recipe=op["recipe"] or op["usual_recipe"],
        sweeps=sweeps,
        findings=findings,
        assumed=tuple((name, because) for name, because in op["assumed"]),
        target=op["group"],
        file=op["file"],
        line=op["line"],
        claim=op["claim"],
        declared=op["declared"],
        forgiven=tuple(sorted(allowed)),
        unswept=tuple(unswept),
        left=tuple((name, said) for name, said in op["left"]),
        strict=strict,
        passed_over=passed_over,
    )


def summarize_uncalled(op: OpStub, sentence: str, word: str = "unsolved") -> CheckResult:
    """The result of a Function that could not be called."""
    recipe = op["recipe"] if is_described(op) and word != "unsolved" else ""
    return CheckResult(op["name"], word, sentence, recipe, target=op["group"], file=op["file"], line=op["line"])


def spared(result: CheckResult) -> CheckResult:
    """The result of a check with the data of a step, where what these do not touch is no failure."""
    shares = [each.touched for each in result.sweeps if each.seen]
    if result.ok or not result.sweeps:
        return result
    if not shares:
        return replace(result, spared="not called by your data")
    return replace(result, spared="untouched by your data") if not any(each != 0 for each in shares) else result


def asked_twice(result: CheckResult) -> CheckResult:
    """The result of a second attempt, which says that it is one where that has been lost, too, or is undecided."""
    if result.word not in _OPEN:
        return result
    sweeps = tuple(
        replace(each, sentence=f"{each.sentence} {_AGAIN}") if each.word == "lost" else each for each in result.sweeps
    )
    findings = tuple(
        replace(each, torch=_AGAIN) if (each.id, each.level) == (LOST_ID, "error") else each for each in result.findings
    )
    return replace(result, sentence=f"{result.sentence} {_AGAIN}", sweeps=sweeps, findings=findings)


def _swept(
    op: OpDescription, header: SectionRecord, number: int, proof: ProofRecord | None, causes: Mapping[str, str]
) -> SweptSection:
    verdict, failure, seen = header["verdict"], header["failure"], header["seen"]
    word = "lost" if is_lost(failure) else verdict["word"]
    explanation, worst, wide = verdict["explanation"], verdict["worst"], header["wide"]
    if word == "matches here" and _differs_nearby(op, header):
        word = "differs"
    if explanation and explanation["kind"] in _OF_ONE_ELEMENT and (cause := causes.get(input_of(header["wrt"]))):
        explanation = {**explanation, "sentence": cause}
    by_design = number and word in ("differs", "undecided") and op["claim"] == "surrogate"
    return SweptSection(
        wrt=header["wrt"],
        of=header["of"],
        start=header["start"],
        stop=header["stop"],
        word=word,
        sentence=failure["sentence"] if failure else verdict["sentence"],
        explanation=explanation["sentence"] if explanation else "",
        intervals=tuple((low, high) for low, high in verdict["intervals"]),
        worst=WorstPoint(**worst) if worst else None,
        line=_line(op, failure["line"] if failure else _backward(op["source"])),
        fault=word in FAILING_WORDS and not by_design,
        beyond=wide["sentence"] if wide else "",
        remark=SmallDifference(**verdict["remark"]) if verdict["remark"] else None,
        touched=seen["differs"] if seen else None,
        seen=seen["sentences"][0] if seen else "",
        hurried=bool(header["hurried"]),
        proved=ProvedShare(proof["word"], proof["share"], proof["sentence"]) if proof and proof["word"] else None,
    )


def _differs_nearby(op: OpDescription, header: SectionRecord) -> bool:
    """Whether backward is wrong beyond the range at numbers that the input may well have.

    The domain of an input is known where it is declared, or where its recipe says how it is filled: then it ends there.
    """
    name, start, stop = header["wrt"].partition("[")[0], header["start"], header["stop"]
    unbounded = re.search(rf"(?:^|; ){re.escape(name)}: float\d+\[[\d, ]*\](?:;|$)", op["usual_recipe"])
    reach = _NEAR * max(abs(start), abs(stop))
    ends = [high if high <= start else low for low, high in (header["wide"]["intervals"] if header["wide"] else ())]
    return bool(unbounded) and any(abs(each) <= reach for each in ends)


def _accusation(finding: XrayFinding) -> str:
    where = f" in {finding.input}" if finding.input else ""
    return f"backward differs from the derivative of forward{where}: {finding.seen[:1].lower()}{finding.seen[1:]}"


def is_lost(failure: FailureRecord | None) -> TypeGuard[FailureRecord]:
    """Whether the worker did not survive the question."""
    return failure is not None and failure["phase"] == "worker"


def _findings(op: OpDescription, contract: ContractRecord) -> tuple[XrayFinding, ...]:
    """The rows of the X-ray; one error that says so where its worker was lost."""
    failure = contract["failure"]
    if not is_lost(failure):
        return tuple(_finding(op, each) for each in contract["checks"])
    return (XrayFinding(LOST_ID, "", "error", "The X-ray", failure["sentence"], line=_line(op, failure["line"])),)


def _finding(op: OpDescription, row: CheckRecord) -> XrayFinding:
    named = (row["id"], row["family"], row["level"], row["title"], row["seen"], row["torch"], row["advice"])
    return XrayFinding(*named, _line(op, row["line"]), row["element"])


def _backward(source: str) -> int | None:
    """The line of the source at which backward begins."""
    lines = enumerate(source_lines(source), 1)
    return next((i for i, line in lines if line.split("(")[0].strip() == "def backward"), None)


def _line(op: OpDescription, line: int | None) -> int | None:
    """A line of the source, as one of the file."""
    return op["first_line"] + line - 1 if line and op["first_line"] else None
