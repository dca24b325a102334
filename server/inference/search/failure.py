"""The error of a search without result: which argument is to blame, what it raised, and a recipe to edit."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ...protocol.listed import shortened
from ...runtime.timeouts import NeverReturned, TookTooLong
from ..recipe.recipe import Constant, NotInferred
from ..source.signature import not_static
from .blame import Blame, is_source_error, user_location
from .queue import RecipeStep
from .search import RecipeSearch, is_missing_here
from .trial import Outcome, UnusableCall, try_recipe

_MAX_FAILURES, _MAX_LENGTH = 5, 160
_HINT = "say how it is called instead"
_Failures = list[tuple[RecipeStep, Outcome, Blame]]
_KINDS = {
    **{"tensor": "a tensor", "index": "an index", "mask": "a mask", "number": "a number", "whole": "a whole number"},
    **{"flag": "True or False", "text": "a string", "callable": "something to call", "sequence": "a tuple or a list"},
    **{"nothing": "may be None", "dtype": "a dtype", "device": "a device", "dim": "a dimension", "object": "an object"},
}


def not_inferred(function: Any, search: RecipeSearch) -> NotInferred:
    """The ``NotInferred`` for a failed search: the sentence, the argument, a recipe to edit, and some trials."""
    failures = sorted(search.failures, key=lambda each: (not each[1].forward, each[0].cost))
    parameters = tuple((each.name, _evidence_summary(search, each.name)) for each in search.evidence.arguments)
    if not failures:
        foreign = next((each.name for each in search.evidence.arguments if search.evidence.of(each.name).foreign), "")
        if foreign:
            return NotInferred(_object_sentence(search, foreign), foreign, _blank_recipe(search), (), parameters)
        argument = next((each.name for each in search.evidence.arguments), "")
        recipe = _blank_recipe(search)
        sentence = (
            f"Nothing was found that {search.signature.name} could be given for {argument!r}; say how it is called, "
            f"such as `{recipe}`."
        )
        return NotInferred(sentence, argument, recipe, (), parameters, sayable=True)
    failures = _farthest(failures)
    argument = _blamed_argument(search, failures)
    recipe = failures[0][0].recipe.text()
    sentence, error = _sentence(function, search, failures, argument, recipe), None
    sayable = _HINT in sentence
    own = [each for each in failures if is_source_error(each[2]) and not _unbound(function, search, each[2])]
    own = [each for each in own if not search.lacks_an_attribute(each[2])]
    if own:
        step, outcome, _ = own[0]
        error = try_recipe(search.signature.call, step.recipe).error  # called once more, for its traceback
        if error is not None and not isinstance(error, ImportError):
            sentence = f"{_method(search, outcome)} {describe_error(error)}, whatever it is called with; fix it."
            argument, recipe, sayable = "", step.recipe.text(), False
    missing = is_missing_here(failures[0][2])
    return NotInferred(sentence, argument, recipe, _distinct_failures(failures), parameters, error, sayable, missing)


def _farthest(failures: _Failures) -> _Failures:
    """Put the failure that came furthest first, where the Function itself rejects the likeliest recipe."""
    first = failures[0]
    further = [
        each
        for each in failures
        if each[1].forward == first[1].forward and not each[2].own and each[2].reached > first[2].reached
    ]
    if not first[2].own or not further:
        return failures
    best = max(further, key=lambda each: each[2].reached)
    return [best, *(each for each in failures if each is not best)]


def describe_error(error: BaseException) -> str:
    """What was raised and where, such as ``raises ValueError: no (my_ops.py, line 12)``."""
    if isinstance(error, SystemExit):
        return f"ends the program ({', '.join(filter(None, ('sys.exit', user_location(error))))})"
    text, place = shortened(Blame(error, frozenset()).message, _MAX_LENGTH), user_location(error)
    return f"raises {text.rstrip('.')}" + (f" ({place})" if place else "")


def _method(search: RecipeSearch, outcome: Outcome) -> str:
    if search.signature.plain:
        return "backward of it" if outcome.forward else "it"
    return "backward" if outcome.forward else "forward"


def _unbound(function: Any, search: RecipeSearch, blamed: Blame) -> bool:
    alone = not search.signature.plain and not_static(function)
    return alone and "Backward' object has no attribute" in blamed.message


def _sentence(function: Any, search: RecipeSearch, failures: _Failures, argument: str, recipe: str) -> str:
    name, (_, outcome, blamed) = search.signature.name, failures[0]
    where, text = _method(search, outcome), shortened(blamed.message, _MAX_LENGTH)
    if _unbound(function, search, blamed):
        return (
            f"forward of {name} is not a static method, and reads what only an object has: {text}; decorate it with "
            "@staticmethod, and take what __init__ took as arguments."
        )
    if is_missing_here(blamed):
        return (
            f"{name} cannot run on this machine, whatever it is given: {where} raises {text}; set up what it asks for, "
            f"or {_HINT}."
        )
    if _is_endless(blamed):
        text, place = str(blamed.error).removeprefix("it "), getattr(blamed.error, "place", "")
        said = f"{name} does not come to an end: called with `{recipe}`, {where} {text}{place}"
        return f"{said}; {_HINT}." if _may_end(failures) else f"{said}."
    foreign = search.argument_without_attribute(blamed)
    if foreign:
        return _object_sentence(search, foreign)
    what = f"No value was found for {argument!r}" if argument else "No arguments were found"
    still = "" if isinstance(blamed.error, UnusableCall) else f"{where} still raises "
    return (
        f"{what} with which {name} works: after {search.trials} trials {still}{text}, called with `{recipe}`; {_HINT}."
    )


def _is_endless(blamed: Blame) -> bool:
    return isinstance(blamed.error, TookTooLong | NeverReturned)


def _may_end(failures: _Failures) -> bool:
    """Whether another call may come to an end: one did, or a number was given by which it may go on."""
    numbers = any(isinstance(each, Constant) for step, _, _ in failures for each in step.recipe.arguments)
    return numbers or not all(_is_endless(blamed) for _, _, blamed in failures)


def _blank_recipe(search: RecipeSearch) -> str:
    """A recipe to fill in where nothing was tried: every required argument, one of them a tensor at least."""
    arguments = search.evidence.arguments
    required = [each.name for each in arguments if each.required] or [each.name for each in arguments[:1]]
    tensors = [name for name in required if _likeliest_kind(search, name) == "tensor"] or required[:1]
    return "; ".join(f"{name}: float64[7]" if name in tensors else f"{name} = None" for name in required)


def _object_sentence(search: RecipeSearch, name: str) -> str:
    read = ", ".join(f"{name}.{each}" for each in dict.fromkeys(search.evidence.of(name).members))
    return (
        f"{name!r} has to be an object ({shortened(read, _MAX_LENGTH)} is read from it), which no recipe can write "
        "down; give what you would pass as example_inputs."
    )


def _distinct_failures(failures: _Failures) -> tuple[tuple[str, str], ...]:
    """A few failed trials, each with another error."""
    recipes: dict[str, str] = {}
    for step, _, blamed in failures:
        recipes.setdefault(shortened(blamed.message, _MAX_LENGTH), step.recipe.text())
    return tuple((recipe, message) for message, recipe in list(recipes.items())[:_MAX_FAILURES])


def _blamed_argument(search: RecipeSearch, failures: _Failures) -> str:
    """The argument that most of the likeliest failures are blamed on."""
    blamed = Counter[str]()
    for place, (_, _, each) in enumerate(failures[:40]):
        for index in each.places:
            blamed[search.evidence.arguments[index].name] += 1 / (1 + place) / len(each.places)  # type: ignore[assignment]
    return blamed.most_common(1)[0][0] if blamed else ""


def _evidence_summary(search: RecipeSearch, name: str) -> str:
    known = search.evidence.of(name)
    if not known.weights:
        return "nothing was found out about it"
    kind = _likeliest_kind(search, name)
    return f"{_KINDS.get(kind, kind)}, because {known.why(kind) or 'of its name'}"


def _likeliest_kind(search: RecipeSearch, name: str) -> str:
    weights = search.evidence.of(name).weights
    return max(weights, key=lambda each: weights[each], default="")
