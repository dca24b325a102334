"""Sixty faults planted in the server, one after another: does the suite see each of them?

    PYTHONPATH=tests python tests/bench/planted_faults.py           all, in a clean clone that nobody else uses
    PYTHONPATH=tests python tests/bench/planted_faults.py 10 20     the eleventh to the twentieth
    PYTHONPATH=tests python tests/bench/planted_faults.py --list    what they are

Which faults is drawn with a seed, so many from each package: a condition negated, a comparison or an operation turned
round, an index one higher. The tests of the package run first, then the others of each push; the file is put
back afterwards. A fault that changes nothing a user can meet is no miss, and a reader has to say so.
"""

from __future__ import annotations

import ast
import random
import subprocess
import sys
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SEED = 20
# How many faults a package gets: more where more is decided. The others get one.
FAULTS = {"numerics": 14, "contract": 6, "inference": 5, "runtime": 4, "http": 3, "html": 3, "figure": 3, "report": 3}
OTHERS = 1
OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "==", "in": "not in"}
OPERATION = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*"}
COMPARISON = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.In: "in"}


@dataclass(frozen=True)
class Fault:
    """The text of a file with one change in a ``line``, which is ``before`` that and ``after`` it."""

    path: Path
    line: int
    before: str
    after: str
    text: str

    @property
    def package(self) -> str:
        return self.path.relative_to(ROOT / "server").parts[0].removesuffix(".py")

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: `{self.before}` → `{self.after}`"


def faults() -> list[Fault]:
    """The same ones for the same tree; in the order of the packages."""
    chosen = list[Fault]()
    for package in sorted((ROOT / "server").iterdir()):
        files = sorted(package.rglob("*.py")) if package.is_dir() else [package]
        possible = [fault for file in files if file.suffix == ".py" for fault in _of_file(file)]
        drawn = random.Random(f"{SEED} {package.name}")
        chosen += drawn.sample(possible, min(len(possible), FAULTS.get(package.name, OTHERS)))
    return chosen


def _of_file(path: Path) -> Iterator[Fault]:
    text = path.read_text("utf-8")
    lines = text.encode().split(b"\n")
    for node in ast.walk(ast.parse(text)):
        for place, after in _changes(text, node):
            if place.lineno == place.end_lineno:
                line = lines[place.lineno - 1]
                changed = line[: place.col_offset] + after.encode() + line[place.end_col_offset :]
                mutant = b"\n".join([*lines[: place.lineno - 1], changed, *lines[place.lineno :]]).decode()
                before = line[place.col_offset : place.end_col_offset].decode()
                yield Fault(path, place.lineno, before, after, mutant)


def _changes(text: str, node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    source = ast.get_source_segment
    match node:
        case ast.If(test=test) | ast.IfExp(test=test) if "TYPE_CHECKING" not in str(source(text, test)):
            yield test, f"(not ({source(text, test)}))"
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARISON:
            yield node, f"(({source(text, left)}) {OPPOSITE[COMPARISON[type(op)]]} ({source(text, right)}))"
        case ast.BoolOp(op=op, values=[first, second]):
            word = "or" if isinstance(op, ast.And) else "and"
            yield node, f"(({source(text, first)}) {word} ({source(text, second)}))"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATION and not _is_text(left, right):
            yield node, f"(({source(text, left)}) {OPERATION[type(op)]} ({source(text, right)}))"
        case ast.Subscript(slice=ast.Constant(value=int() as number) as index):
            yield index, str(number + 1)


def _is_text(*nodes: ast.expr) -> bool:
    return any(isinstance(node, ast.JoinedStr | ast.List | ast.Tuple) for node in nodes) or any(
        isinstance(node, ast.Constant) and not isinstance(node.value, int | float) for node in nodes
    )


def seen(fault: Fault) -> str:
    """What saw it, and within how many seconds; empty if nothing did."""
    original = fault.path.read_bytes()
    fault.path.write_text(fault.text, encoding="utf-8")
    began = time.monotonic()
    try:
        for tests in _suites(fault.package):
            if red := _first_red(tests):
                return f"{red} ({time.monotonic() - began:.0f} s)"
    finally:
        fault.path.write_bytes(original)
    return ""


def _suites(package: str) -> Iterator[list[str]]:
    """Arguments of pytest: the tests of the package, then the core, then all of each push."""
    if (ROOT / "tests" / package).is_dir():
        yield [f"tests/{package}", "-m", "not nightly"]
    yield ["-m", "core"]
    yield ["-m", "not nightly"]


def _first_red(arguments: list[str]) -> str:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "2", "--dist", "worksteal", "--tb", "no", *arguments]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if not run.returncode:
        return ""
    told = [line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return told[0][:100] if told else f"pytest ended with {run.returncode}"


def main() -> None:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("range", nargs="*", type=int, help="of the faults, the first is 0")
    parser.add_argument("--list", action="store_true", help="show them, and run nothing")
    options = parser.parse_args()
    chosen = faults()[slice(*options.range)] if options.range else faults()
    if not options.list and subprocess.check_output(["git", "status", "--porcelain"], cwd=ROOT):
        parser.error("commit or stash first: files are changed and put back")
    missed = 0
    for fault in chosen:
        answer = "" if options.list else seen(fault)
        missed += not answer
        print(f"{fault}\n    {answer or 'not seen'}" if not options.list else fault, flush=True)
    if not options.list:
        print(f"{len(chosen) - missed} of {len(chosen)} seen")


if __name__ == "__main__":
    main()
