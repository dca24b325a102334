"""Repairs: a table of error message patterns and the changes of kind, dtype or shape that each suggests."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from ..recipe.recipe import NAMED_VALUES, Constant, Recipe, TensorArgument
from ..source import name_hints
from . import shape_repairs
from .failed_call import FailedCall, Repair

_Match = re.Match[str]
_CALLABLES = ("torch.tanh", "torch.mul", "identity", "torch.addcmul")


def _as_callable(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    named = [place for place, each in enumerate(broken.recipe.arguments) if name_hints.CALLABLE_NAME.search(each.name)]
    for place in dict.fromkeys((*broken.places(), *named)):
        given = broken.given(place)
        if isinstance(given, Constant) and isinstance(given.value, tuple | list):
            # Its elements are called.
            yield from broken.with_values(place, ((NAMED_VALUES["torch.tanh"],), [NAMED_VALUES["torch.tanh"]]), 0.3)
        yield from broken.with_values(place, tuple(NAMED_VALUES[name] for name in _CALLABLES), 0.4, 0.3)


def _distinct_numbers(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    """Distinct numbers, where equal ones are rejected."""
    numbers = [(place, each) for place, each in broken.constants() if type(each.value) in (int, float)]
    values = [each.value for _, each in numbers]
    for place, each in numbers:
        if values.count(each.value) > 1:
            yield from broken.with_values(place, (each.value * 2 or 1, each.value + 1), 0.4)


def _as_bool(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    for place, each in broken.constants():
        if type(each.value) is not bool:
            yield from broken.with_values(place, (True, False), 0.4)
    for place, _ in broken.tensors(False):
        if place:
            yield from broken.with_values(place, (True, False), 1.4)


def _as_dtype(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    """A dtype of the kind that the message names."""
    names = ("torch.float8_e4m3fn",) if "float8" in match.string else ("torch.float32", "torch.float64")
    for place, each in broken.constants():
        yield from broken.with_values(
            place, tuple(NAMED_VALUES[name] for name in names if NAMED_VALUES[name] is not each.value), 0.4
        )


def _half_precision(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    for step, to in enumerate(("bfloat16", "float16")):
        yield from broken.with_tensors(lambda each, to=to: _with_dtype(each, to), 0.5 + 0.2 * step)  # type: ignore[misc]


def _callable_of_arity(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    """A callable that takes this number of arguments."""
    count = int(next(filter(None, match.groups()), "2"))
    for place, each in broken.constants():
        if callable(each.value):
            fitting = ("torch.addcmul",) if count > 2 else ("torch.mul", "torch.sub") if count == 2 else ("torch.tanh",)
            yield from broken.with_values(place, tuple(NAMED_VALUES[name] for name in fitting), 0.3)


def _with_dtype(each: TensorArgument, dtype: str) -> TensorArgument:
    return replace(each, dtype=dtype) if each.floating else each


_Repairer = Callable[[FailedCall, _Match], Iterator[Repair]]


def suggested_repairs(broken: FailedCall) -> Iterator[Repair]:
    """The repairs that an error suggests, from the patterns that match its message."""
    for pattern, mend in _REPAIRERS:
        match = re.search(pattern, broken.blame.message)
        if match:
            yield from mend(broken, match)
    if broken.blame.own:
        yield from _after_own_raise(broken)


def _as_tensor(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    """A tensor in place of a constant."""
    like = broken.recipe.inputs[0] if broken.recipe.inputs else TensorArgument("x", (7,))
    for step, (place, each) in enumerate(broken.constants()):
        single = name_hints.SCALAR_NAME.search(each.name.lower())
        shapes = ((), like.shape[-1:], like.shape) if single else (like.shape, like.shape[-1:], ())
        fill = "positive" if name_hints.POSITIVE_NAME.search(each.name.lower()) else "normal"
        for rank, shape in enumerate(dict.fromkeys((*shapes, (1,)))):
            tensor = TensorArgument(each.name, shape, like.dtype, fill)  # type: ignore[arg-type]
            yield from broken.with_argument(place, tensor, 0.5 + 0.4 * step + 0.4 * rank)


def _tensor_for_gradient(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    """A tensor for an argument that backward returns a gradient for."""
    yield from _as_tensor(broken.blaming(frozenset([int(match[1]) - 1])), match)


def _tensor_for_saved(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    """A tensor for an argument that is saved for backward."""
    place = int(match[1])
    name = broken.saved[place] if place < len(broken.saved) else None
    places = frozenset(at for at, each in enumerate(broken.arguments) if each.name == name)
    yield from _as_tensor(broken.blaming(places) if places else broken, match)


def _with_attribute(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    owner, name = match[1], match[2]
    if owner != "Tensor":
        yield from _as_tensor(broken, match)
        return
    values = ("mean",) if name in dir(str) else (1.0,) if name in dir(float) else ()
    for place, _ in broken.tensors(False):
        yield from broken.with_values(place, values, 0.8)


def _as_integer(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    for place, each in broken.constants():
        if type(each.value) is not int:
            yield from broken.with_values(place, (2, 1, 3), 0.4)
    for place, _ in broken.tensors(False):
        if place:
            yield from broken.with_values(place, (2, 1, 3), 1.4)
    for place, one in broken.tensors():
        if not one.shape:
            yield from broken.with_argument(place, TensorArgument(one.name, (), "int64", "index", 2), 0.5)


def _as_sequence(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    for place, each in broken.constants():
        if isinstance(each.value, int | float):
            for step, length in enumerate((2, 1, 4, 3)):
                yield from broken.with_argument(place, Constant(each.name, (each.value,) * length), 0.6 + 0.4 * step)
        if isinstance(each.value, tuple | list) and place:
            yield from broken.with_argument(place, TensorArgument(each.name, (3, 5)), 0.9)


def _as_signs(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    for place, each in broken.tensors():
        if place:
            yield from broken.with_argument(place, replace(each, fill="signs"), 0.4)


def _as_float32(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    yield from broken.with_tensors(lambda each: replace(each, dtype="float32") if each.floating else each, 0.3)


def _as_index(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    dtype = "int32" if re.search(r"\b(Int|int32)\b", match.string) else "int64"
    for step, (place, each) in enumerate(broken.tensors()):
        first = 0.5 * (place == 0) + 0.2 * step
        for turn, shape in enumerate(dict.fromkeys((each.shape, each.shape[:1]))):
            given = TensorArgument(each.name, shape, dtype, "index", 2)
            yield from broken.with_argument(place, given, 0.4 + first + 0.3 * turn)


def _as_mask(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    for place, each in broken.tensors(False):
        yield from broken.with_argument(place, TensorArgument(each.name, each.shape, "bool"), 0.4 + 0.3 * (place == 0))


def _as_float(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    for place, each in broken.tensors(False):
        if not each.floating:
            yield from broken.with_argument(place, TensorArgument(each.name, each.shape), 0.5)


def _smaller_index(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    """A smaller index or int."""
    for place, each in broken.tensors(False):
        if each.fill == "index" and each.below > 1:
            yield from broken.with_argument(place, replace(each, below=1), 0.5)
    for place, fixed in broken.constants():
        if type(fixed.value) is int and fixed.value > 0:
            yield from broken.with_argument(place, Constant(fixed.name, fixed.value - 1), 0.5)


def _as_positive(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    yield from broken.with_tensors(lambda each: replace(each, fill="positive") if each.floating else each, 0.3)
    for place, each in reversed(broken.tensors()):
        yield from broken.with_argument(place, replace(each, fill="positive"), 0.4)


def _fewer_arguments(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    """As many arguments as backward returns gradients for."""
    expected, got = int(match[1]), int(match[2])
    least = sum(each.required for each in broken.arguments)
    if max(1, least) <= got < expected:
        yield Repair(Recipe(broken.recipe.arguments[:got]), 0.2, "", "")


def _less_grad(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    """One input fewer that requires grad."""
    inputs = [(place, each) for place, each in broken.tensors() if each.grad]
    for place, each in inputs if len(broken.recipe.inputs) > 1 else []:
        yield from broken.with_argument(place, replace(each, grad=False), 0.5)


def _instead_of_none(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    """A value in place of None."""
    nones = frozenset(place for place, each in broken.constants() if each.value is None)
    if nones:
        yield from _as_tensor(broken.blaming(nones), match)
    for place in nones:
        yield from broken.with_values(place, (1.0, 2, True), 0.6)


def _instead_of_condition(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    """A bool or a number for a tensor that is used as a condition."""
    for place, each in broken.tensors(False):
        yield from broken.with_values(place, (True, 1.0, False, 2, None), 0.5 + 0.5 * (place == 0))
        yield from broken.with_argument(place, replace(each, shape=()), 0.9)


def _after_own_raise(broken: FailedCall) -> Iterator[Repair]:
    """Repairs after a raise or assert of the user's own code: a value for None, or another number."""
    nones = frozenset(place for place, each in broken.constants() if each.value is None)
    match = re.search("", "")
    if nones and match:
        yield from _as_tensor(broken.blaming(nones), match)
    yield from shape_repairs.sizes_as_ints(broken)
    for place, each in broken.constants() if len(broken.constants()) < 5 else []:
        if type(each.value) is bool:
            yield from broken.with_values(place, (not each.value,), 0.5)
        elif type(each.value) is int:
            yield from broken.with_values(place, tuple(one for one in (2, 1, 4, 3, 8, 0) if one != each.value), 0.7)
        elif isinstance(each.value, float):
            yield from broken.with_values(place, tuple(each.value * one for one in (0.5, 2.0, 0.0, -1.0)), 0.7)


_REPAIRERS: tuple[tuple[str, _Repairer], ...] = (
    (r"values to unpack \(expected (?:at least )?(\d)", shape_repairs.unpacked_rank),
    (r"values to unpack", shape_repairs.other_sizes),
    (
        r"Dimension out of range \(expected to be in range of \[(-?\d+), (-?\d+)\], but got (-?\d+)\)",
        shape_repairs.rank_for_dim,
    ),
    (
        r"tuple index out of range|too many indices|[Dd]imension specified as|list index out of range",
        shape_repairs.one_more_dimension,
    ),
    (r"(\d)-?\s?[Dd]\b|\d[- ]dim|must be a matrix|must be matrices|a vector", shape_repairs.named_rank),
    (
        r"[Dd]imension mismatch|same number of dimensions|number of dims|greater or equal to the number of dim",
        shape_repairs.one_more_dimension,
    ),
    (r"'(\w+)' object has no attribute '(\w+)'", _with_attribute),
    (
        r"must be Tensor, not|must be tensor|must be Tensor\b|expected .*Tensor.* but got (?:int|float|NoneType)",
        _as_tensor,
    ),
    (r"different than None at position (\d+), but the corresponding forward input was not", _tensor_for_gradient),
    (r"can only save variables, but argument (\d+) is of type", _tensor_for_saved),
    (r"object is not callable", _as_callable),
    (r"takes \d+ positional arguments? but (\d) were given|missing (\d) required positional", _callable_of_arity),
    (r"must be bool\b", _as_bool),
    (r"float8|must be torch\.dtype|dtype.* but got|dtype, not", _as_dtype),
    (r"[Bb]f(loat)?16|[Hh]alf|fp16", _half_precision),
    (r"cannot be interpreted as an integer|indices must be integers|must be int\b|must be tuple of ints", _as_integer),
    (r"integer argument|expected an? (?:long|int)|integer is required|slice indices|expected .*\bint\b", _as_integer),
    (r"invalid combination of arguments|incompatible function arguments", _as_integer),
    (r"object is not subscriptable|object is not iterable|has no len\(\)|argument after \* must be", _as_sequence),
    (r"NoneType", _instead_of_none),
    (r"Boolean value of Tensor|truth value of an array|cannot be converted to Scalar", _instead_of_condition),
    (r"Float.*Double|Double.*Float|float32|float64|\bdouble\b|same dtype|dtype mismatch|scalar type|fp32", _as_float32),
    (r"[Ll]ong|int64|\bInt\b|int32|used as indices|must be of integer|index tensor|integral|integer", _as_index),
    (r"\bBool\b|invert|bitwise|boolean|BoolTensor|ByteTensor|bool\b", _as_mask),
    (r"floating point|only Tensors of floating|not implemented for '(?:Long|Int|Bool)'", _as_float),
    (r"square|same size.*last two", shape_repairs.square_matrices),
    (r"positive-definite|positive definite|[Ss]ingular|not invertible|[Cc]holesky", shape_repairs.definite_matrices),
    (r"\((\d+)x(\d+) and (\d+)x(\d+)\)", shape_repairs.matrix_product_sizes),
    (r"(?:size (?=\d+ in last dim)|must have length )(\d+)", shape_repairs.last_dimension),
    (r"index (\d+) is out of bounds for dimension (\d+) with size (\d+)", shape_repairs.size_for_index),
    (r"\((\d+)\) must match.*\((\d+)\)", shape_repairs.equal_sizes),
    (r"size mismatch, got .*?(\d+).*?(\d+)", shape_repairs.equal_sizes),
    (r"[Ee]xpected .*?\b(\d+)\b.*?, but got .*?\b(\d+)\b", shape_repairs.equal_sizes),
    (r"to have (\d+) channels, but got (\d+)", shape_repairs.equal_sizes),
    (r"\[(?:\d+, )*(\d+)\] (?:and|vs\.?|with) \[(?:\d+, )*(\d+)\]", shape_repairs.equal_sizes),
    (r"invalid gradient at index (\d+) - got \[([\d, ]*)\]", shape_repairs.shape_of_gradient),
    (
        r"is invalid for input of size|not divisible|divisible by|view size|unflatten|divide",
        shape_repairs.divisible_sizes,
    ),
    (r"is invalid for input of size|[Nn]umber of elements|elements in total|numel", shape_repairs.size_from_tuple),
    (r"(?:must|should|has to|needs? to|have to) (?:be|have|equal)\D{0,24}?\b(\d+)\b", shape_repairs.number_in_message),
    (r"[(\[][A-Za-z]\w*\s*,", shape_repairs.shape_in_message),
    (
        r"[Ss]izes?\b|[Ss]hapes?\b|length|dimension|out of bounds|must match|mismatch|expand|broadcast",
        shape_repairs.other_sizes,
    ),
    (r"out of bounds|out of range|selected index k|start \(", _smaller_index),
    (r"not finite|math domain|must be positive|probability|greater than 0|> 0|division by zero|>= 0", _as_positive),
    (r"^it was not back", _as_positive),
    (r"-1 (?:and|or) \+?1\b|-1, ?\+?1[\])}]|\+/-\s?1|±\s?1|\b1 (?:and|or) -1\b", _as_signs),
    (r"\b(different|distinct|unequal|not be equal|differ)\b", _distinct_numbers),
    (r"incorrect number of gradients \(expected (\d+), got (\d+)\)", _fewer_arguments),
    (r"does not require grad|derivative .* not implemented|requires_grad|require grad", _less_grad),
)
