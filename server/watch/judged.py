"""What was seen, judged in this process: the figure and the check of a Function in the calls of the step."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..capture.record import Capture
from ..notebook import process_restored
from ..notebook.arguments import CheckArguments
from ..notebook.figure import notebook_figure
from ..notebook.run import run_check, subject_or_error
from ..protocol.answer import curves_of
from ..report.result import CheckResult, ExaminedFunction
from ..report.summarize import spared
from ..schema.section import SeenRecord
from ..user_code.captured_calls import captured_override, data_of_function


@dataclass(frozen=True, repr=False)
class SeenResults:
    """The results of several Functions; true where all are ``ok``."""

    results: tuple[CheckResult, ...]

    @property
    def ok(self) -> bool:
        """Whether none differs where the data touch it."""
        return all(each.ok for each in self.results)

    def __bool__(self) -> bool:
        return self.ok

    def __iter__(self) -> Iterator[CheckResult]:
        return iter(self.results)

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self.results))


def check_seen(cls: type, capture: Capture, everywhere: bool = False) -> CheckResult:
    """The check of a Function with what was seen of it, which fails for what that touches, or ``everywhere``."""
    with process_restored():
        found = run_check(cls, _call_seen(cls, capture)).checked
    return found if everywhere else spared(found)


def summary_of_seen(cls: type, capture: Capture) -> SeenRecord | None:
    """What is said of the first input of a Function; None where it cannot be called."""
    with process_restored():
        wanted = _call_seen(cls, capture)
        subject = subject_or_error(cls, wanted)
        if isinstance(subject, ExaminedFunction):
            return None
        try:
            return curves_of(subject.frame(wanted.address(subject.told).question)).header["seen"]
        except (Exception, SystemExit):  # noqa: BLE001 a Function may raise anything; its check says what
            return None


def look_at_seen(cls: type, capture: Capture) -> Any:
    """The live figure of a Function with what was seen of it."""
    with process_restored():
        return notebook_figure(cls, _call_seen(cls, capture))


def _call_seen(cls: type, capture: Capture) -> CheckArguments:
    """The arguments of a check with the call, and the numbers, that a capture has of a Function."""
    data = data_of_function(capture, cls)
    found = captured_override(data, cls) if data else None
    return CheckArguments(example_inputs=found and found.values, data=data)
