"""The other calls of an op that is declared: within what its declaration says of shapes, bounds and domains."""

import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial

import torch

from ...ops import Op, Parameter
from ..contract.examination.call import Call, TensorsByName
from ..runtime.arrays import dtype_name
from ..runtime.section import Section
from .directional_check import DirectionalResult, compare_along_directions
from .other_call import OtherCall
from .short_dtypes import comparison_in
from .ties import Tied, compare_at_ties, equal_to_the_first, in_turns, tensors_alike
from .variants import MEMORY_LAYOUTS, SPACED, TRANSPOSED, values_near
from .vmap_check import claims_vmap, compare_under_vmap

_Change = Callable[[Call], Call]


@dataclass(frozen=True)
class _Declared:
    """A declared op with its call, that of its surrogate if it has one, and the inputs that are looked at."""

    op: Op
    call: Call
    meant: Call | None
    names: Collection[str]

    def compared(self, changed: str, change: _Change) -> OtherCall:
        """The call with a change, held against the slopes of forward or of the surrogate."""
        return OtherCall(changed, partial(change, self.call), lambda call: self._slopes(call, change))

    def _slopes(self, call: Call, change: _Change) -> DirectionalResult:
        return compare_along_directions(call, change(self.meant) if self.meant else None, self.names)


def calls_of_declared(section: Section, wrong: Collection[str]) -> Iterator[OtherCall]:
    """The other calls of a declared op: none of what it declares is changed but numbers within their bounds.

    A shape is free only where one number was declared, and the Function takes several of them as it takes each. Of a
    surrogate the slopes are those of the surrogate. Of the inputs that are ``wrong`` anyhow nothing is asked but that
    their gradients are numbers. Raises whatever the Function raises.
    """
    op = section.op
    if op.claim == "broken" or op.follows_sign:
        return
    base = Call.of(section)
    surrogate = op.surrogate_for(section.wrt, 1.0)
    names = [name for name in ((section.wrt,) if surrogate else base.tensors) if name not in wrong]
    declared = _Declared(op, base, base.through(surrogate) if surrogate else None, names)
    yield from _with_parameters(declared)
    yield from _reshaped(declared)
    yield from _laid_out(declared)
    yield from _alone(declared)
    if not wrong:
        yield from _with_ties(declared)
    if op.dtype == "float64":
        for dtype in (torch.float32, torch.float16):
            yield OtherCall(dtype_name(dtype), lambda: base, comparison_in(dtype))
    if claims_vmap(op.function):
        yield OtherCall("torch.func.vmap over dimension 1", lambda: Call.plain(section), compare_under_vmap)


def _with_parameters(declared: _Declared) -> Iterator[OtherCall]:
    takes = declared.op.surrogate_takes
    for each in declared.op.parameters:
        if takes is not None and each.name not in takes:
            continue
        for value in _values(each, declared.call.parameters[each.name]):
            yield declared.compared(f"{each.name} = {_text(value)}", partial(_with_parameter, each.name, value))


def _with_parameter(name: str, value: object, call: Call) -> Call:
    return replace(call, parameters={**call.parameters, name: value})


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else repr(value)


def _values(parameter: Parameter, value: object) -> list[object]:
    """Other values of a parameter within its bounds: near ones, or else halfway to the bounds."""
    near = values_near(value, list(parameter.choices))
    if parameter.kind not in ("float", "int"):
        return near
    low, high = parameter.minimum, parameter.maximum
    inside = [each for each in near if low <= each <= high]
    if isinstance(value, float):
        inside += [(value + each) / 2 for each in (low, high) if abs(each) != math.inf and each != value]
    elif isinstance(value, int):
        inside += [each for each in (value - 1, value - 2) if low <= each <= high]
    return inside[:2]


def _reshaped(declared: _Declared) -> Iterator[OtherCall]:
    """The stack of a Function of single numbers as a matrix, as a block, and as one number."""
    tensors = declared.call.tensors
    if set(declared.call.stacked) < set(tensors):
        return
    size = next(iter(tensors.values())).numel()
    for shape in ((2, size // 2), (2, 2, size // 4), (1,), ()):
        changed = {name: one.reshape(-1)[: math.prod(shape)].reshape(shape) for name, one in tensors.items()}
        yield replace(
            declared.compared(f"{' and '.join(tensors)} of shape {shape}", _holding(changed)), likely=lambda: False
        )


def _holding(tensors: TensorsByName) -> _Change:
    return lambda call: call.holding(tensors)


def _laid_out(declared: _Declared) -> Iterator[OtherCall]:
    """The same numbers in other places of the memory."""
    most = max(one.dim() for one in declared.call.tensors.values())
    for least, text in ((2, TRANSPOSED), (1, SPACED)):
        if most >= least:
            yield replace(declared.compared(text, partial(_with_layout, MEMORY_LAYOUTS[text])), likely=lambda: False)


def _with_layout(layout: Callable[[torch.Tensor], torch.Tensor], call: Call) -> Call:
    callee, count = call.callee, len(call.tensors)
    return call.through(lambda *given: callee(*map(layout, given[:count]), *given[count:]))


def _alone(declared: _Declared) -> Iterator[OtherCall]:
    if len(declared.call.tensors) > 1 and declared.meant is None:
        for name in declared.call.tensors:
            yield declared.compared(f"a gradient for {name} alone", partial(_with_one, name))


def _with_one(name: str, call: Call) -> Call:
    """The call of one tensor; the others are held."""
    callee, held = call.callee, call.tensors

    def called(one: torch.Tensor, *parameters: object) -> object:
        return callee(*(one if each == name else held[each].to(one.dtype, copy=True) for each in held), *parameters)

    return replace(call, tensors={name: held[name]}, callee=called)


def _with_ties(declared: _Declared) -> Iterator[OtherCall]:
    """The call with equal numbers, those of it itself, where they are in the domain."""
    tensors = declared.call.tensors
    kinds: list[tuple[str, Tied]] = [("equal numbers in pairs", in_turns)]
    if pair := tensors_alike(tensors):
        kinds.append((f"{pair[1]} equal to {pair[0]}", equal_to_the_first))
    if declared.meant is not None and len(tensors) > 1:
        return
    for changed, tie in kinds:
        tied = tie(tensors)
        if _in_domain(declared.op, tied):
            meant = declared.meant.holding(tied) if declared.meant else None
            yield OtherCall(changed, partial(declared.call.holding, tied), partial(compare_at_ties, slopes_of=meant))


def _in_domain(op: Op, tensors: TensorsByName) -> bool:
    domains = {each.name: each.domain for each in op.inputs}
    return all(bool(((one >= domains[name][0]) & (one <= domains[name][1])).all()) for name, one in tensors.items())
