"""Edits of a call that failed: what else its arguments may be, each at a cost.

There is one list of edits: other kinds, other numbers in a tensor, other ranks, other sizes. An edit is tried where the
error message has words that speak for it; where the user's own code raises, other shapes and numbers are anyway.
Numbers in the message are candidates for ranks, sizes and ints alike, as the sizes of a call differ from each other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from ..recipe.recipe import COMPLEX, NAMED_VALUES, Constant, Recipe, TensorArgument, is_square
from ..source import name_hints
from .failed_call import Edit, FailedCall
from .shape_edits import divisible_sizes, other_ranks, other_sizes, sizes_as_ints, sizes_of_tuple, square

_Edits = Iterator[Edit]
# What an edit costs more that no word speaks for; and one of a tensor where a constant may be meant.
_UNSPOKEN, _OF_TENSOR = 1.0, 1.0
_CALLABLES = ("torch.tanh", "torch.mul", "identity", "torch.addcmul")
_DTYPES = ("torch.float32", "torch.float64", "torch.float8_e4m3fn")


def edits(failed: FailedCall) -> list[Edit]:
    """The edits that may mend a call."""
    failed = failed.with_named_place()
    found = list[Edit]()
    for words, make in _EDITS:
        if re.search(words, failed.blame.message):
            found += make(failed)
        elif failed.blame.own and make in _TRIED_ANYWAY:
            found += (replace(each, cost=each.cost + _UNSPOKEN) for each in make(failed))
    return found


def _values(*values: Any) -> Callable[[FailedCall], _Edits]:
    """Edits that pass one of these constants."""

    def make(failed: FailedCall) -> _Edits:
        for place, each in failed.constants():
            yield from failed.with_values(place, [one for one in values if not _same(one, each.value)], 0.4)
        for place, _ in failed.tensors(False):
            if place:
                yield from failed.with_values(place, values, 0.4 + _OF_TENSOR)

    return make


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one is other or one == other)


def _tensors(*changes: Callable[[TensorArgument], TensorArgument]) -> Callable[[FailedCall], _Edits]:
    """Edits that change all floating tensors alike, then those that change one of them."""

    def make(failed: FailedCall) -> _Edits:
        for step, change in enumerate(changes):
            yield from failed.with_tensors(change, 0.3 + 0.2 * step, floating=True)
            for place, each in reversed(failed.tensors()):
                yield from failed.with_argument(place, change(each), 0.4 + 0.2 * step)

    return make


def _tensor(failed: FailedCall) -> _Edits:
    """A tensor in place of a constant, None first."""
    like = failed.recipe.inputs[0] if failed.recipe.inputs else TensorArgument("x", (7,))
    for step, (place, each) in enumerate(sorted(failed.constants(), key=lambda found: found[1].value is not None)):
        name = each.name.lower()
        first = ((),) if name_hints.SCALAR_NAME.search(name) else ()
        shapes: tuple[tuple[int, ...], ...] = (*first, like.shape, like.shape[-1:], (), (1,))
        fill = "positive" if name_hints.POSITIVE_NAME.search(name) else "normal"
        for rank, shape in enumerate(dict.fromkeys(shapes)):
            tensor = TensorArgument(each.name, shape, like.dtype, fill)  # type: ignore[arg-type]
            yield from failed.with_argument(place, tensor, 0.5 + 0.4 * step + 0.4 * rank)


def _sequence(failed: FailedCall) -> _Edits:
    for place, each in failed.constants():
        if isinstance(each.value, int | float):
            yield from failed.with_values(place, [(each.value,) * length for length in failed.numbers(2, 1, 4, 3)], 0.6)
        if isinstance(each.value, tuple | list) and place:
            yield from failed.with_argument(place, TensorArgument(each.name, (3, 5)), 0.9)


def _callable(failed: FailedCall) -> _Edits:
    functions = _named(_CALLABLES)
    named = [place for place, each in enumerate(failed.recipe.arguments) if name_hints.CALLABLE_NAME.search(each.name)]
    for place in dict.fromkeys((*failed.places(), *named)):
        given = failed.given(place)
        if isinstance(given, Constant) and isinstance(given.value, tuple | list):
            yield from failed.with_values(place, [(functions[0],), [functions[0]]], 0.3)
        yield from failed.with_values(place, functions, 0.4)


def _other_numbers(failed: FailedCall) -> _Edits:
    """Other values of a number or flag: those in the message, and those beside it."""
    for place, each in failed.constants():
        if type(each.value) is bool:
            yield from failed.with_values(place, [not each.value], 0.5)
        elif type(each.value) is int:
            beside = (each.value - 1, each.value + 1, 2, 1, 4, 3, 8, 0)
            yield from failed.with_values(
                place, [one for one in failed.numbers(*beside) if one != each.value], 0.5, 0.1
            )
        elif isinstance(each.value, float):
            yield from failed.with_values(place, [each.value * one for one in (2.0, 0.5, 0.0, -1.0)], 0.4)


def _index(failed: FailedCall) -> _Edits:
    message = failed.blame.message
    short = re.search(r"\b(Int|int32)\b", message) and not re.search(r"int64|[Ll]ong", message)
    dtype = "int32" if short else "int64"
    for step, (place, each) in enumerate(failed.tensors()):
        for turn, shape in enumerate(dict.fromkeys((each.shape, each.shape[:1]))):
            given = TensorArgument(each.name, shape, dtype, "index", 2)
            yield from failed.with_argument(place, given, 0.4 + 0.5 * (place == 0) + 0.2 * step + 0.3 * turn)


def _of_dtype(dtype: str) -> Callable[[FailedCall], _Edits]:
    """Edits that pass a tensor of this dtype."""

    def make(failed: FailedCall) -> _Edits:
        for place, each in failed.tensors(False):
            given = TensorArgument(each.name, each.shape, dtype)
            yield from failed.with_argument(place, given, 0.5 + 0.3 * (place == 0))

    return make


def _smaller_index(failed: FailedCall) -> _Edits:
    for place, each in failed.tensors(False):
        if each.fill == "index" and each.below > 1:
            yield from failed.with_argument(place, replace(each, below=1), 0.5)


def _fewer_arguments(failed: FailedCall) -> _Edits:
    """As many arguments as backward returns gradients for."""
    least = sum(each.required for each in failed.arguments)
    for count in failed.numbers():
        if max(1, least) <= count < len(failed.recipe.arguments):
            yield Edit(Recipe(failed.recipe.arguments[:count]), 0.2, "", "")


def _less_grad(failed: FailedCall) -> _Edits:
    """One input fewer that requires grad."""
    inputs = [(place, each) for place, each in failed.tensors() if each.grad]
    for place, each in inputs if len(failed.recipe.inputs) > 1 else []:
        yield from failed.with_argument(place, replace(each, grad=False), 0.5)


_COMPLEX_WORDS = "[Cc]omplex|without overflow"


def _complex_or_real(failed: FailedCall) -> _Edits:
    """Complex numbers in place of real ones, and real ones in place of complex ones."""
    message, tensors = failed.blame.message, failed.tensors()
    if re.search(_COMPLEX_WORDS, message) or any(each.is_complex for _, each in tensors):
        for step, (place, each) in enumerate(tensors):
            yield from failed.with_argument(place, _of_other_numbers(each), 0.3 + 0.1 * step)
        yield from failed.with_tensors(_of_other_numbers, 0.5)
    if re.search(r"complex64|ComplexFloat|cfloat", message):
        yield from failed.with_tensors(lambda each: replace(each, dtype="complex64"), 0.2, floating=True)


def _of_other_numbers(each: TensorArgument) -> TensorArgument:
    kinds = COMPLEX | {real: numbers for numbers, real in COMPLEX.items()}
    return replace(each, dtype=kinds.get(each.dtype, each.dtype))


def _single(each: TensorArgument) -> TensorArgument:
    return replace(each, dtype="complex64" if each.is_complex else "float32")


def definite(each: TensorArgument) -> TensorArgument:
    """The same with a positive definite matrix, or with positive numbers where it is not square."""
    return replace(each, fill="spd" if is_square(each.shape) else "positive")


def stable(each: TensorArgument) -> TensorArgument:
    """The same with a matrix whose powers and exponentials die out, if it is square."""
    return replace(each, fill="stable") if is_square(each.shape) else each


def positive(each: TensorArgument) -> TensorArgument:
    """The same with positive numbers."""
    return replace(each, fill="positive")


def _scalar(failed: FailedCall) -> _Edits:
    for place, each in failed.tensors(False):
        yield from failed.with_argument(place, replace(each, shape=()), 0.6)


def _named(names: Iterable[str]) -> tuple[Any, ...]:
    return tuple(NAMED_VALUES[name] for name in names)


_SHAPE_WORDS = (
    r"[Ss]izes?\b|[Ss]hapes?\b|length|[Dd]imension|out of bounds|match|expand|broadcast|unpack|matri|channels|"
    r"elements|numel|divi[ds]|flatten|gradient at index|(?:must|should|has to|needs? to|have to) (?:be|have|equal)|"
    r"[(\[][A-Za-z]\w*\s*,"
)
_RANK_WORDS = (
    r"[Dd]imension|number of dim|unpack|index out of|too many|matri|vector|\d[- ]?([Dd]\b|dim)|[(\[][A-Za-z]\w*\s*,"
)
_EDITS: tuple[tuple[str, Callable[[FailedCall], _Edits]], ...] = (
    (_COMPLEX_WORDS, _complex_or_real),
    (r"[Tt]ensor\b.* but got|must be [Tt]ensor|NoneType|no attribute|different than None|can only save", _tensor),
    (r"must be bool|Boolean value|truth value|NoneType", _values(True, False)),
    (r"integer|\bints?\b|\blong\b|indices|NoneType|combination of arguments|function arguments", _values(2, 1, 3)),
    (r"combination of arguments.*\bbool\b", _values(True, False)),  # as older torch says that one has to be
    (r"NoneType|Boolean value|truth value|Scalar|must be real|'Tensor' object has no attr", _values(1.0)),
    (r"Boolean value|truth value", _values(None)),
    (r"'Tensor' object has no attribute", _values("mean")),
    (r"dtype|float8", _values(*_named(_DTYPES))),
    (r"subscriptable|iterable|len\(\)|argument after \*|unpack", _sequence),
    (r"not callable|positional arguments?", _callable),
    (r"Float.*Double|Double.*Float|float32|float64|\bdouble\b|dtype|scalar type|fp32", _tensors(_single)),
    (
        r"[Bb]f(loat)?16|[Hh]alf|fp16",
        _tensors(lambda each: replace(each, dtype="bfloat16"), lambda each: replace(each, dtype="float16")),
    ),
    (r"[Ll]ong|int64|\b[Ii]nts?\b|int32|used as indices|index tensor|integ|operands of type pointer", _index),
    (r"[Bb]ool|invert|bitwise|ByteTensor", _of_dtype("bool")),
    (r"floating|not implemented for", _of_dtype("float64")),
    (r"Boolean value|truth value|Scalar", _scalar),
    (
        r"finite|domain|positive|probab|greater than|> 0|>= 0|division|did not return",
        _tensors(definite, positive),
    ),
    (r"stab|Hurwitz|Schur|converg|contract|diverge|spectral|eigenvalue|finite|did not return", _tensors(stable)),
    (r"\b0\b.*\b1\b|< ?=? ?1\b|probab", _tensors(lambda each: replace(each, fill="simplex"))),
    (r"-1\b.*\b1\b|±\s?1|\+/-\s?1|\b1 (?:and|or) -1\b", _tensors(lambda each: replace(each, fill="signs"))),
    (r"square|same size.*last two|definite|[Ss]ingular|invertible|[Cc]holesky", square),
    (_RANK_WORDS, other_ranks),
    (_SHAPE_WORDS, other_sizes),
    (r"divi[ds]|flatten|view size|invalid for input", divisible_sizes),
    (r"out of bounds|out of range|selected index k|start \(", _smaller_index),
    (r"must|should|differ|distinct|equal|range|[Ss]ize|[Ss]hape|divi", _other_numbers),
    (r"elements|[Ss]hape|[Ss]ize", sizes_as_ints),
    (r"elements|[Ss]hape|[Ss]ize", sizes_of_tuple),
    (r"incorrect number of gradients", _fewer_arguments),
    (r"does not require grad|derivative .* not implemented|requires_grad|require grad", _less_grad),
)
_TRIED_ANYWAY = (_complex_or_real, _tensor, other_ranks, other_sizes, _other_numbers, sizes_as_ints)
