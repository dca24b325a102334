"""What the views share: types of their documents, the grid, evaluating and judging, names for sentences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, TypeVar, cast, get_args, get_origin

import numpy as np
from numpy.typing import NDArray
from typing_extensions import get_type_hints, is_typeddict

from ..numerics.curve.evaluate import evaluate
from ..numerics.curve.evaluation import Evaluation
from ..numerics.linearity.laws import Linearity
from ..numerics.sampling.grid import Grid, defined_part
from ..numerics.sentences.names import Names
from ..numerics.sentences.violation_sentence import describe_violation
from ..numerics.status import STATUS_WORDS
from ..numerics.verdict.verdict import Verdict, judge
from ..numerics.whole_range.check import less_certain, tolerated_range
from ..protocol.question import Question
from ..protocol.views import VIEWS, AnswerRecord
from ..runtime.failure import REJECTED_KINDS, Failure, FunctionFailed
from ..runtime.section import Section
from ..schema.section import AskedRecord, FailureRecord, FindingRecord
from ..schema.views import Sent

ColumnArrays = dict[str, NDArray[Any]]
ViewAnswer = tuple[AnswerRecord, ColumnArrays]
# Of the section that is asked for; what was asked, as the header begins, is not always the same question.
ViewFunction = Callable[[Section, Question, AskedRecord], ViewAnswer]
_Record = TypeVar("_Record")


def finite_or_none(value: float) -> float | None:
    """The number, or None if it is not finite."""
    return float(value) if np.isfinite(value) else None


def record_of(thing: Any, shape: type[_Record], /, **more: Any) -> _Record:
    """What was measured, as plain data of a ``shape``: each of its fields is ``more``, or the thing's attribute.

    Records within it are made alike, by all of their fields where no shape is named. Null stands for what is no
    finite number.
    """
    fields = {name: more[name] if name in more else getattr(thing, name) for name in _hints(shape)}
    return cast(_Record, {name: _plain(value, _hints(shape)[name]) for name, value in fields.items()})


def sent(thing: Any, **more: Any) -> Sent:
    """What was measured as plain data, by all of its own fields, and what there is ``more``."""
    return {each.name: _plain(getattr(thing, each.name), Any) for each in fields(thing)} | more


def failure_record(failure: Failure | None) -> FailureRecord | None:
    """A failure as plain data."""
    return record_of(failure, FailureRecord) if failure else None


def record_at(columns: Any, row: int, shape: type[_Record]) -> _Record:
    """One row of measured columns as plain data of a ``shape``."""
    fields = {name: _plain(getattr(columns, name)[row], float) for name in _hints(shape)}
    return cast(_Record, fields)


_hints = cast(Callable[[Any], dict[str, Any]], cache(get_type_hints))


def _plain(value: Any, hint: Any) -> Any:
    """A value as plain data of the type ``hint``, which may allow None."""
    if value is None or isinstance(value, str | int | dict):
        return value
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist(), hint)
    if isinstance(value, float):
        return finite_or_none(value)
    kinds = (hint, *get_args(hint))
    if isinstance(value, list | tuple):
        kind = next((each for each in kinds if get_origin(each) in (list, tuple)), list[Any])
        return (get_origin(kind) or list)(_plain(each, get_args(kind)[0]) for each in value)
    record = next(filter(is_typeddict, kinds), None)
    if record:
        return record_of(value, record)
    return sent(value) if is_dataclass(value) else value


def view_answer(
    asked: AskedRecord, measured: Any, columns: Any = None, also: ColumnArrays | None = None, **more: Any
) -> ViewAnswer:
    """The answer of the view that was asked for: a header and columns of the shapes that its row in ``VIEWS`` names.

    The fields of the header are ``more``, or attributes of what was ``measured``; the columns are ``also``, or
    attributes of ``columns``, left out where these are None.
    """
    view, table = VIEWS[asked["view"]], also or {}
    header = cast(dict[str, Any], record_of(measured, view.header, **{"statuses": STATUS_WORDS, **asked, **more}))
    own = {name: value for name, value in header.items() if name not in (*asked, "failure")}
    for name in () if columns is None else view.columns:
        if name not in table and (column := getattr(columns, name)) is not None:
            table[name] = column.astype(np.uint8 if name.startswith("status") else np.float64, copy=False)
    return cast(AnswerRecord, {**asked, "notes": header["notes"], **own, "failure": header["failure"]}), table


def linearity_findings(linearity: Linearity, names: Names) -> list[FindingRecord]:
    """The violations of linearity as plain data: where, what was returned, and a sentence."""
    return [record_of(each, FindingRecord, sentence=describe_violation(each, names)) for each in linearity.findings]


def evaluate_and_judge(section: Section, question: Question) -> tuple[Evaluation, Verdict]:
    """Evaluate the section on the grid of the question, and judge it. Raises ``FunctionFailed``.

    Where forward raises at more than a few points, that is done for the part of the grid where it does not.
    """
    grid = question_grid(question)
    try:
        evaluation = evaluate(section, grid, question.grad_output, question.step)
    except FunctionFailed as error:
        part = None if error.failure.kind in REJECTED_KINDS else defined_part(section, grid)
        if part is None or part == grid:
            raise
        evaluation = evaluate(section, part, question.grad_output, question.step)
        evaluation = replace(evaluation, elsewhere=error.failure)
    verdict = judge(evaluation, question.atol, question.rtol)
    wide = evaluation.whole_range
    if wide is not None and (question.atol, question.rtol) != (None, None):
        wide = tolerated_range(wide, verdict.tolerance)
    if wide is not None and verdict.against.intervals:
        wide = less_certain(wide, verdict.against.intervals)
    return replace(evaluation, whole_range=wide), verdict


def question_grid(question: Question, most: int | None = None) -> Grid:
    """The grid of the question, with at most so many points."""
    return Grid(question.start, question.stop, min(question.count, most or question.count))


def why_nothing_compared(evaluation: Evaluation, names: Names) -> str:
    """Why there is nothing that backward returned to be held against forward; empty where there is something."""
    if evaluation.failure:
        return f"There is nothing to compare: {evaluation.failure.brief}."
    if evaluation.grad_output == 0:
        return f"There is nothing to compare: with {names.grad_output} 0 every gradient is 0."
    if evaluation.hurried:
        return f"{evaluation.hurried}, so nothing is compared but the curves."
    if evaluation.analytical is None:
        return f"There is nothing to compare: {names.backward} returns no gradient for {names.wrt}."
    return ""
