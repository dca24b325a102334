"""Tensors that a function reads without being given them: parameters of a module, of an object, of a closure, globals.

They are found by what its code refers to, and exchanged where they are kept while the function is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import CellType, CodeType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any

import torch

from ...ops import Op
from .arguments import BoundFunction, as_tensor_or_tuple, callable_of, tensors_of
from .devices import DeviceCall
from .graph import function_nodes

_DEPTH, _OBJECTS = 6, 5000  # budget: how deep objects are nested that are looked into, and how many there may be
# What these packages define holds no tensors of the user's but in modules.
_NOT_THE_USERS = frozenset(("torch", "numpy", "builtins", "functools", "collections", "typing", "types"))
_OF_EVERY_MODULE = frozenset(vars(torch.nn.Module()))


@dataclass(frozen=True)
class _Place:
    """Where a value is kept: a dict, a list, a class or the cell of a closure, and its key there."""

    holder: Any
    key: Any = None

    def put(self, value: Any) -> None:
        """Keep another value there."""
        if isinstance(self.holder, CellType):
            self.holder.cell_contents = value
        elif isinstance(self.holder, type):
            setattr(self.holder, self.key, value)
        else:
            self.holder[self.key] = value


@dataclass(frozen=True, eq=False)
class CapturedTensor:
    """A tensor that requires grad, what the code calls it, and all places where it is kept; none where it is fixed.

    ``argument`` is the position of the argument that is the same tensor, None where there is none.
    """

    name: str
    tensor: torch.Tensor
    places: tuple[_Place, ...]
    argument: int | None = None

    def put(self, tensor: torch.Tensor) -> None:
        """Keep another tensor in its places."""
        for place in self.places:
            place.put(tensor)


@dataclass(frozen=True, eq=False)
class CapturedFunction:
    """A function whose captured tensors are its last arguments: they are exchanged for those while it runs.

    They are as well while the backward of a Function of it runs, for leaves with the same numbers.
    """

    function: Callable[..., Any]
    captured: tuple[CapturedTensor, ...]
    constants: Mapping[str, Any]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the last arguments."""
        return tuple(each.name for each in self.captured if each.argument is None)

    def __call__(self, *given: Any) -> Any:
        """Call the function with all arguments but the last ones, which stand for the captured tensors."""
        own = given[: len(given) - len(self.names)]
        last = iter(given[len(own) :])
        tensors = [next(last) if each.argument is None else own[each.argument] for each in self.captured]
        try:
            self._put(tensors)
            returned = callable_of(self.function)(*own)
        finally:
            self._put([each.tensor for each in self.captured])
        for node in function_nodes(tensors_of(as_tensor_or_tuple(returned))):
            # Called on the class: an attribute of ctx may hide the method.
            type(node).register_prehook(node, lambda _: self._put([each.detach().requires_grad_() for each in tensors]))
            type(node).register_hook(node, lambda *_: self._put([each.tensor for each in self.captured]))
        return returned

    def _put(self, tensors: Sequence[torch.Tensor]) -> None:
        for each, tensor in zip(self.captured, tensors, strict=True):
            each.put(tensor.to(each.tensor.device))

    def rebound(self, function: Callable[..., Any]) -> CapturedFunction:
        """The same of a copy of the function, which may keep the same tensors in other places."""
        found = {id(each.tensor): each.places for each in captured_tensors(function, self.constants)}
        captured = (replace(each, places=(*each.places, *found.get(id(each.tensor), ()))) for each in self.captured)
        return CapturedFunction(function, tuple(captured), self.constants)


def without_captured(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself, whose captured tensors are no arguments."""
    return function.function if isinstance(function, CapturedFunction) else function


def captured_names(op: Op) -> tuple[str, ...]:
    """The inputs of an op that its function is not given, but captures."""
    bound = op.call.function if isinstance(op.call, BoundFunction) else None
    return bound.names if isinstance(bound, CapturedFunction) else ()


def only_device(op: Op) -> str:
    """The device that the function of an op is called on wherever its inputs are; empty where that is theirs."""
    bound = without_captured(op.call.function) if isinstance(op.call, BoundFunction) else None
    return bound.device if isinstance(bound, DeviceCall) else ""


def captured_tensors(function: Callable[..., Any], constants: Mapping[str, Any]) -> list[CapturedTensor]:
    """The tensors that require grad, of a function and of the objects among its arguments, by name; each once."""
    found: dict[int, tuple[str, torch.Tensor, list[_Place]]] = {}
    seen: dict[int, Any] = {}
    roots = {name: value for name, value in constants.items() if not isinstance(value, torch.Tensor)}
    for root, value in (("", function), *roots.items()):
        for name, tensor, place in _inside(root, value, None, _DEPTH, seen):
            _, _, places = found.setdefault(id(tensor), (name, tensor, []))
            places.extend([place] if place else [])
    return [CapturedTensor(name, tensor, tuple(places)) for name, tensor, places in found.values()]


_Found = tuple[str, torch.Tensor, _Place | None]
_Member = tuple[str, Any, _Place | None]


def _inside(name: str, value: Any, place: _Place | None, depth: int, seen: dict[int, Any]) -> Iterator[_Found]:
    if isinstance(value, torch.Tensor):
        if value.requires_grad:
            yield name, value, place
    elif depth and id(value) not in seen and len(seen) < _OBJECTS:
        seen[id(value)] = value  # it stays alive, and keeps its id
        for member in _members(name, value):
            yield from _inside(*member, depth - 1, seen)


def _members(name: str, value: Any) -> Iterator[_Member]:
    """What a value refers to: names in its code, attributes, elements."""
    if isinstance(value, FunctionType):
        yield from _of_code(value)
    elif isinstance(value, MethodType):
        yield from ((name, each, None) for each in (value.__self__, value.__func__))
    elif isinstance(value, partial):
        yield from ((name, each, None) for each in (value.func, value.args))
        yield from _items(name, value.keywords)
    elif isinstance(value, DeviceCall):
        yield name, value.function, None
    elif isinstance(value, staticmethod | classmethod):
        yield name, value.__func__, None
    elif isinstance(value, property):
        yield name, value.fget, None
    elif isinstance(value, torch.nn.Module):
        for kept in (value._parameters, value._buffers, value._modules):
            yield from _items(name, kept)
        own = vars(value)
        yield from ((_joined(name, key), own[key], _Place(own, key)) for key in own.keys() - _OF_EVERY_MODULE)
        yield name, type(value), None
    elif isinstance(value, type):
        if _is_the_users(value):
            for base in filter(_is_the_users, value.__mro__):
                of_class = _joined(name, type.__dict__["__name__"].__get__(value))  # whatever its metaclass says
                yield from ((_joined(of_class, key), each, _Place(base, key)) for key, each in vars(base).items())
    elif isinstance(value, dict):
        yield from _items(name, value)
    elif isinstance(value, list):
        yield from ((f"{name}.{place}", each, _Place(value, place)) for place, each in enumerate(value))
    elif isinstance(value, tuple | set | frozenset):
        yield from ((f"{name}.{place}", each, None) for place, each in enumerate(value))
    elif (isinstance(value, SimpleNamespace) or _is_the_users(type(value))) and hasattr(value, "__dict__"):
        yield from _items(name, vars(value))
        yield name, type(value), None


def _is_the_users(thing: Any) -> bool:
    return str(getattr(thing, "__module__", None) or "").partition(".")[0] not in _NOT_THE_USERS


def _items(name: str, kept: dict[Any, Any]) -> Iterator[_Member]:
    return ((_joined(name, str(key)), each, _Place(kept, key)) for key, each in list(kept.items()))


def _joined(name: str, key: str) -> str:
    return f"{name}.{key}" if name else key


def _of_code(function: FunctionType) -> Iterator[_Member]:
    """What the code of a function of the user refers to: variables of the closure, globals, those of other files."""
    if not _is_the_users(function):
        return
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            value = cell.cell_contents
        except ValueError:  # it is empty
            continue
        yield ("" if name == "self" else name), value, _Place(cell)
    names = set(names_looked_up(function.__code__))
    for name in sorted(names & function.__globals__.keys()):
        value = function.__globals__[name]
        if isinstance(value, ModuleType):
            own = {} if value.__name__.partition(".")[0] in _NOT_THE_USERS else vars(value)
            yield from ((f"{name}.{key}", own[key], _Place(own, key)) for key in sorted(names & own.keys()))
        else:
            yield name, value, _Place(function.__globals__, name)


def names_looked_up(code: CodeType) -> Iterable[str]:
    """The names that code looks up, and that functions nested in it do."""
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from names_looked_up(each)
