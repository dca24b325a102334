"""Runs the check of a Function in this process; errors become results."""

from collections.abc import Coroutine
from typing import Any, TypeVar

from ..inference.recipe.recipe import BadRecipe, NotInferred
from ..protocol.errors import BadQuestion
from ..report.examine import examine_function, with_advice
from ..report.result import CheckResult, ExaminedFunction
from ..report.summarize import summarize_uncalled
from .arguments import CheckArguments
from .subject import Subject, function_name, make_subject, without_apply

_T = TypeVar("_T")
_ADVICE = 'Give that as recipe="...", or what you would pass as example_inputs=(...).'


def run_check(function: Any, wanted: CheckArguments) -> ExaminedFunction:
    """The result of the check; raises nothing but ``KeyboardInterrupt``."""
    subject = subject_or_error(function, wanted)
    return subject if isinstance(subject, ExaminedFunction) else examine_subject(subject)


def subject_or_error(function: Any, wanted: CheckArguments) -> Subject | ExaminedFunction:
    """The subject of the check; or a result that says why the Function cannot be called."""
    function = without_apply(function)
    name = function_name(function)
    try:
        return make_subject(function, wanted)
    except NotInferred as problem:
        sentence = f"{problem.sentence} {_ADVICE}" if problem.sayable else problem.sentence
        return ExaminedFunction(CheckResult(name, "unsolved", sentence), tried=problem.tried)
    except (BadRecipe, BadQuestion) as problem:
        return ExaminedFunction(CheckResult(name, "unsolved", str(problem)))
    except (Exception, SystemExit) as problem:  # noqa: BLE001 a Function may raise anything, and so may its description
        return ExaminedFunction(CheckResult(name, "failed", _error_sentence(problem)))


def examine_subject(subject: Subject) -> ExaminedFunction:
    """The sweeps and the contract X-ray of a subject."""
    description, chosen = subject.told, subject.wanted.address if subject.wanted.somewhere else None
    try:
        return with_advice(run_to_end(examine_function(subject, description["name"], chosen=chosen)), _ADVICE)
    except (Exception, SystemExit) as problem:  # noqa: BLE001 in this process there is no supervisor to report it
        return ExaminedFunction(summarize_uncalled(description, _error_sentence(problem), "failed"), description)


def _error_sentence(problem: BaseException) -> str:
    kind = type(problem).__name__
    return f"Looking at it raised {kind}: {problem}" if str(problem) else f"Looking at it raised {kind}."


def run_to_end(work: Coroutine[Any, Any, _T]) -> _T:
    """The result of a coroutine that never suspends."""
    try:
        work.send(None)
    except StopIteration as end:
        result: _T = end.value
        return result
    work.close()
    raise RuntimeError("what answers here and now has waited")
