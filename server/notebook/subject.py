"""The subject of a check: the Function that is meant by what was passed, the op made from it, its description, and the
section asked for; and the check of it in this process, where errors become results.
"""

import inspect
import os
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any, TypeVar

import torch
from torch.autograd import Function

from ...ops import Op
from ..catalogue.op_description import describe_op, measured_shapes
from ..inference.construction.op import InferredOp, free_names, op_of
from ..inference.recipe.recipe import BadRecipe, NotInferred, Recipe
from ..inference.source.signature import signature_of
from ..protocol.answer import Answer
from ..protocol.errors import BadQuestion
from ..protocol.frames import Frame
from ..protocol.question import Question
from ..report.examine import examine_function, with_advice
from ..report.result import CheckResult, ExaminedFunction
from ..report.summarize import summarize_uncalled
from ..schema.op import OpDescription, OpStub
from ..user_code.captured_calls import with_data
from ..user_code.definition_lines import SourceFile, code_of
from ..user_code.discover import as_function, declaration_of, is_user_function
from ..user_code.surrogates import claimed_in_docstring, with_declared, with_surrogate
from ..user_code.usual_call import with_scalar_inputs
from ..worker.answer import answer_question
from .arguments import CheckArguments, check_names
from .call import call_of, recipe_with_values

_METHODS = ("forward", "backward", "setup_context", "vjp", "jvp", "vmap")
_MAX_NAMED = 5


def function_name(function: Any) -> str:
    """The name of a Function, op or callable object."""
    named = function.name or function.function.__qualname__ if isinstance(function, Op) else function
    return named if isinstance(named, str) else str(getattr(named, "__qualname__", type(named).__name__))


def function_meant(function: Any) -> Any:
    """The class where its ``apply`` is passed, and anything else as it is.

    Raises ``BadQuestion`` for what people pass in the place of a Function: a string, a module, an object of the class,
    one of its methods, the tensor that a call returned.
    """
    if isinstance(function, str):
        raise BadQuestion(
            f"{function[:60]!r} is a string; pass the Function itself, as in check(MyFunction), or name the file in a "
            "terminal, as in gradloupe my_ops.py --check."
        )
    if isinstance(function, ModuleType):
        names = [name for name, each in vars(function).items() if is_user_function(each)][:_MAX_NAMED]
        example = ", ".join(f"{function.__name__}.{name}" for name in names)
        which = f"one of its Functions: {example}" if example else "a Function, as in check(MyFunction)"
        raise BadQuestion(f"{function.__name__} is a module; pass {which}.")
    if isinstance(function, torch.Tensor):
        raise BadQuestion(
            "A tensor was passed instead of a Function; pass the class first and then its arguments, as in "
            "check(MyFunction, (x, 2.0))."
        )
    if isinstance(function, Function):
        name = type(function).__name__
        raise BadQuestion(f"An object of {name} was passed; pass the class itself: check({name}).")
    if inspect.isroutine(function):
        _refuse_method(function)
    return without_apply(function)


def without_apply(function: Any) -> Any:
    """The class behind the ``apply`` of a Function, the function of a custom operator; anything else as it is."""
    function = as_function(function)
    owner = getattr(function, "__self__", None) if getattr(function, "__name__", "") == "apply" else None
    return owner if isinstance(owner, type) and issubclass(owner, Function) else function


def _refuse_method(function: Any) -> None:
    method = function.__name__
    if method not in _METHODS:
        return
    name = next((each.__name__ for each in _subclasses(Function) if getattr(each, method) is function), "")
    if name:
        raise BadQuestion(f"{name}.{method} is one method of {name}; pass the class itself: check({name}).")


def _subclasses(parent: Any) -> Iterator[Any]:
    for each in parent.__subclasses__():
        yield each
        yield from _subclasses(each)


_GROUP = "here"


@dataclass(frozen=True)
class Subject:
    """An op, its description ``told``, and the arguments of ``check``; an in-process ``Engine`` for this one op."""

    op_: Op
    told: OpDescription
    wanted: CheckArguments = field(default_factory=CheckArguments)

    async def stub(self, name: str) -> OpStub:
        return self.told

    async def op(self, name: str, recipe: str = "") -> OpDescription:
        return self.told

    async def answer(self, question: Question) -> Answer:
        return self.frame(question)

    def frame(self, question: Question) -> Answer:
        """The same without a coroutine; raises ``BadQuestion``."""
        header, columns = answer_question(question, self.op_)
        return Frame(header, {name: column.data for name, column in columns.items()})


def make_subject(function: Any, wanted: CheckArguments) -> Subject:
    """The op of a Function, called with the values given for its arguments, and its description.

    Raises ``NotInferred``, ``BadRecipe``, ``BadQuestion``, and whatever the Function may raise.
    """
    function = function_meant(function)
    op = function if isinstance(function, Op) else _declared_op(function, wanted)
    name = function_name(op or function)
    if op and op.says_the_call:
        wanted = wanted.for_op()
        return _subject_of_op(with_surrogate(replace(op, name=name), wanted.meant), wanted)
    return _subject_of_function(op.function if op else function, name, wanted, op)


def _declared_op(function: Any, wanted: CheckArguments) -> Op | None:
    """The op that declares a Function where it is defined, if that has something to say of the call asked for."""
    if not is_user_function(function):
        return None
    declared = declaration_of(function)
    if declared is None:
        return claimed_in_docstring(function)
    return None if wanted.says_the_call and declared[1].says_the_call else declared[1]


def _subject_of_function(function: Any, name: str, wanted: CheckArguments, claimed: Op | None) -> Subject:
    """The subject of a Function whose call is given or found out; ``claimed`` says what else is declared of it."""
    signature = signature_of(function)
    call, wanted = call_of(function, signature, wanted.for_function(name, signature))
    recipe, used = recipe_with_values(call.recipe, wanted.parameters, signature.arguments)
    wanted = wanted.without(used)
    named = [each.name for each in recipe.arguments] + [each.name for each in signature.arguments if not each.star]
    there = free_names(dict.fromkeys(named))
    check_names(name, wanted.parameters, list(there.values()))
    found = op_of(function, recipe, name, name.rpartition(".")[2], _GROUP, call.given, not call.assumed)
    op = with_surrogate(with_declared(found, claimed) if claimed else found, wanted.meant)
    subject = _subject(op, wanted, recipe)
    call.changed(recipe, [name for name, free in there.items() if free in used]).tell(subject.told)
    return subject


def _subject_of_op(op: Op, wanted: CheckArguments) -> Subject:
    check_names(op.name, wanted.parameters, [each.name for each in op.inputs] + [one.name for one in op.parameters])
    return _subject(with_scalar_inputs(op), wanted)


def _subject(op: Op, wanted: CheckArguments, recipe: Recipe | None = None) -> Subject:
    op = with_data(op, wanted.data)
    file, first, source = _source_of(op)
    op.show_source(first or 1, source)  # the source of a class in a notebook cell comes from linecache
    text = recipe.text() if recipe else ""
    description = describe_op(op, measured_shapes(op)) | {
        "own": recipe is not None,
        "declared": recipe is None,
        "recipe": text,
        "usual_recipe": text,
        "source": source,
        "first_line": first or 1,
        "line": first or 1,
        "file": file,
        "group": _GROUP,
    }
    return Subject(op, description, wanted)


def _source_of(op: Op) -> tuple[str, int, str]:
    """The file (empty for a cell), the first line and the text of the source."""
    custom = isinstance(op, InferredOp) and op.called and (op.function.__module__ or "").startswith("torch.")
    function = inspect.unwrap(op.called if custom else op.function)  # type: ignore[attr-defined]
    code = code_of(function)
    if code is None:
        return "", 0, ""
    try:
        source_file = SourceFile(code.co_filename)
        lines = source_file.place(function)
    except (SyntaxError, ValueError):  # a cell with IPython magic is no Python
        return "", 0, ""
    file = os.path.relpath(code.co_filename) if os.path.exists(code.co_filename) else ""
    return file, lines.first, source_file.text(lines)


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
