"""The verdict on a Function, found in this process: what goes wrong is a result."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from ..inference.recipe.recipe import BadRecipe, NotInferred
from ..protocol.errors import BadQuestion
from ..report.examine import asked
from ..report.report_data import Found
from ..report.summarize import uncalled
from .subject import Subject, Wanted, name_of, subject

_T = TypeVar("_T")
_SAY = 'Give that as recipe="...", or what you would pass as example_inputs=(...).'


def verdict(function: Any, wanted: Wanted) -> Found:
    """What is found of it; raises nothing but ``KeyboardInterrupt``."""
    found = called(function, wanted)
    return found if isinstance(found, Found) else examined(found)


def called(function: Any, wanted: Wanted) -> Subject | Found:
    """What can be asked; or why it cannot be called, as a result."""
    told = {"name": name_of(function)}
    try:
        return subject(function, wanted)
    except NotInferred as problem:
        told |= {"recipe": problem.recipe}
        sentence = f"{problem.sentence} {_SAY}" if problem.sayable else problem.sentence
        return Found(uncalled(told, sentence), told | {"tried": list(problem.tried)})
    except (BadRecipe, BadQuestion) as problem:
        return Found(uncalled(told | {"recipe": wanted.recipe}, str(problem)), told)
    except (Exception, SystemExit) as problem:  # noqa: BLE001 whatever a Function raises, or its description
        return Found(uncalled(told, _said(problem), "failed"), told)


def examined(there: Subject) -> Found:
    """The curves and the X-ray of what can be asked."""
    told, wanted = there.told, there.wanted
    try:
        return _now(asked(there, told["name"], chosen=wanted.address if wanted.somewhere else None))
    except (Exception, SystemExit) as problem:  # noqa: BLE001 in this process nobody else tells of it
        return Found(uncalled(told, _said(problem), "failed"), told)


def _said(problem: BaseException) -> str:
    kind = type(problem).__name__
    return f"Looking at it raised {kind}: {problem}" if str(problem) else f"Looking at it raised {kind}."


def _now(work: Coroutine[Any, Any, _T]) -> _T:
    """What a coroutine returns that never has to wait."""
    try:
        work.send(None)
    except StopIteration as end:
        result: _T = end.value
        return result
    work.close()
    raise RuntimeError("what answers here and now has waited")
