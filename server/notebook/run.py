"""Runs the check of a Function in this process; errors become results."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from ..inference.recipe.recipe import BadRecipe, NotInferred
from ..protocol.errors import BadQuestion
from ..report.examine import examine_function
from ..report.report_data import ExaminedFunction
from ..report.summarize import summarize_uncalled
from .subject import CheckArguments, Subject, function_name, make_subject

_T = TypeVar("_T")
_SAY = 'Give that as recipe="...", or what you would pass as example_inputs=(...).'


def run_check(function: Any, wanted: CheckArguments) -> ExaminedFunction:
    """The result of the check; raises nothing but ``KeyboardInterrupt``."""
    found = subject_or_error(function, wanted)
    return found if isinstance(found, ExaminedFunction) else examine_subject(found)


def subject_or_error(function: Any, wanted: CheckArguments) -> Subject | ExaminedFunction:
    """The subject of the check; or a result that says why the Function cannot be called."""
    told = {"name": function_name(function)}
    try:
        return make_subject(function, wanted)
    except NotInferred as problem:
        told |= {"recipe": problem.recipe}
        sentence = f"{problem.sentence} {_SAY}" if problem.sayable else problem.sentence
        return ExaminedFunction(summarize_uncalled(told, sentence), told | {"tried": list(problem.tried)})
    except (BadRecipe, BadQuestion) as problem:
        return ExaminedFunction(summarize_uncalled(told | {"recipe": wanted.recipe}, str(problem)), told)
    except (Exception, SystemExit) as problem:  # noqa: BLE001 a Function may raise anything, and so may its description
        return ExaminedFunction(summarize_uncalled(told, _said(problem), "failed"), told)


def examine_subject(there: Subject) -> ExaminedFunction:
    """The sweeps and the contract X-ray of a subject."""
    told, wanted = there.told, there.wanted
    try:
        return _now(examine_function(there, told["name"], chosen=wanted.address if wanted.somewhere else None))
    except (Exception, SystemExit) as problem:  # noqa: BLE001 in this process there is no supervisor to report it
        return ExaminedFunction(summarize_uncalled(told, _said(problem), "failed"), told)


def _said(problem: BaseException) -> str:
    kind = type(problem).__name__
    return f"Looking at it raised {kind}: {problem}" if str(problem) else f"Looking at it raised {kind}."


def _now(work: Coroutine[Any, Any, _T]) -> _T:
    """The result of a coroutine that never suspends."""
    try:
        work.send(None)
    except StopIteration as end:
        result: _T = end.value
        return result
    work.close()
    raise RuntimeError("what answers here and now has waited")
