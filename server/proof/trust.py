"""Whether the stand-in saw what tensors see: names that could tell it apart, state that is kept, and a control.

A Function that asks what it is given, or that remembers, may do one thing for a proof and another for its users.
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch

from ..paths import PACKAGE
from ..runtime.failure import FunctionFailed
from ..runtime.section import Section
from .column import Undecided

# What asks for more than numbers, shapes and dtypes.
_TELLING = {"type", "id", "globals", "locals", "vars", "dir", "eval", "exec", "hasattr", "__import__"}
_TELLING_OF_IT = {"__class__", "__dict__", "_getframe", "cache_info", "mro", "__mro__", "__torch_dispatch__", "_C"}
_TELLING_OF_IT |= {"overrides", "_python_dispatch", "__torch_function__", "random", "store", "places"}
_ELSEWHERE = frozenset(("random", "time", "os", "sys", "inspect", "secrets", "datetime", "threading", "ctypes", "gc"))
_OF_GLOBALS, _OF_ATTRIBUTES = ("LOAD_GLOBAL", "LOAD_NAME"), ("LOAD_ATTR", "LOAD_METHOD")
_OURS = f"{PACKAGE}.server."  # what passes the arguments on, and may look at them
_CALLED = ("__call__", "forward")  # methods that run where an object is called, of a module the second
_NO_OBJECTS = (ModuleType, type, torch.Tensor)
_DEEP, _MANY = 3, 1000  # budget: of what is compared before and after: levels, and elements of one
# bound: of rounding in a control, relative to the number and to the largest
_CLOSE = {torch.float64: (1e-7, 1e-9), torch.float32: (1e-3, 1e-5)}


def reached_by(section: Section, surrogate: Callable[..., Any] | None) -> tuple[list[FunctionType], list[Any]]:
    """The functions of Python that a call runs, as far as their names reach them, and the objects that it calls."""
    functions: dict[int, FunctionType] = {}
    objects: dict[int, Any] = {}
    waiting: list[Any] = [section.op.function, section.op.call, surrogate]
    while waiting:
        each = waiting.pop()
        each = getattr(each, "__wrapped__", each)
        if isinstance(each, type) and issubclass(each, torch.autograd.Function):
            waiting += [getattr(one, "__func__", one) for kind in _own(each) for one in vars(kind).values()]
        elif isinstance(each, partial):
            waiting += [each.func, *each.args, *each.keywords.values()]
        elif isinstance(each, MethodType):
            waiting += [each.__func__, each.__self__]
        elif isinstance(each, FunctionType):
            if id(each) not in functions and not _is_installed(each):
                functions[id(each)] = each
                waiting += [value for _, value in _reached(each)]
        elif id(each) not in objects and hasattr(each, "__dict__") and not isinstance(each, _NO_OBJECTS):
            objects[id(each)] = each
            waiting += [vars(kind).get(name) for kind in _own(type(each)) for name in _CALLED]
            waiting += vars(each).values() if type(each).__module__.startswith(_OURS) else ()
    return list(functions.values()), list(objects.values())


def _own(function: Any) -> list[type]:
    """The classes of a Function, or of an object, that are not torch's; a plain function has none."""
    classes: tuple[type, ...] = getattr(function, "__mro__", ())
    return [each for each in classes if not each.__module__.startswith("torch.") and each is not object]


def _is_installed(function: FunctionType) -> bool:
    module = function.__module__ or ""
    return module.startswith(_OURS) or module.partition(".")[0] in ("torch", "numpy", "math", "functools")


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def _names(function: FunctionType, operations: tuple[str, ...]) -> frozenset[str]:
    """The names that some operations of the byte code have."""
    return _names_in(function.__code__, operations)


@lru_cache(maxsize=512)
def _names_in(code: CodeType, operations: tuple[str, ...]) -> frozenset[str]:
    found = (each for one in _codes(code) for each in dis.get_instructions(one))
    return frozenset(str(each.argval) for each in found if each.opname in operations)


def _reached(function: FunctionType) -> list[tuple[str, Any]]:
    """The globals and the closed-over values that a function names, and what it names of modules."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
    closed = [(name, cell.cell_contents) for name, cell in cells if _is_filled(cell)]
    defaults = enumerate((*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()))
    named = [
        (name, function.__globals__[name])
        for name in sorted(_names(function, _OF_GLOBALS) & function.__globals__.keys())
    ]
    attributes = _names(function, _OF_ATTRIBUTES)
    inside = [
        (f"{name}.{each}", vars(module)[each])
        for name, module in named
        if isinstance(module, ModuleType) and module.__name__.partition(".")[0] not in ("torch", "numpy", "math")
        for each in sorted(attributes & vars(module).keys())
    ]
    return [*named, *closed, *inside, *((str(place), each) for place, each in defaults)]


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def refuse_what_tells(functions: list[FunctionType]) -> None:
    """Refuse names with which a Function could tell a stand-in from a tensor, or one call from the next."""
    for function in functions:
        names = _names(function, _OF_GLOBALS) & _TELLING | _names(function, _OF_ATTRIBUTES) & _TELLING_OF_IT
        reached = {each.__name__ for _, each in _reached(function) if isinstance(each, ModuleType)}
        for name in sorted(names | (reached & _ELSEWHERE)):
            raise Undecided(f"it asks for {name!r}, with which it may know that it is being proved")


@contextmanager
def stateless(functions: list[FunctionType], objects: list[Any], section: Section) -> Iterator[None]:
    """Refuse what is kept from one call to the next, and put the names of classes and modules back."""
    before = _state(functions, objects, section)
    modules = [
        (names, dict(names)) for names in {id(each.__globals__): each.__globals__ for each in functions}.values()
    ]
    classes = [(kind, dict(vars(kind))) for kind in _own(section.op.function)]
    try:
        yield
        if _state(functions, objects, section) != before:
            raise Undecided("it keeps something from one call to the next")
    finally:
        for names, known in modules:
            names.update(known)
        for kind, known in classes:
            for name in (each for each, value in known.items() if vars(kind).get(each) is not value):
                setattr(kind, name, known[name])


def _state(functions: list[FunctionType], objects: list[Any], section: Section) -> Any:
    """What can be compared of all that the functions name."""
    classes = [vars(each) for each in _own(section.op.function)]
    named = [each for function in functions for each in _reached(function)]
    return (
        [_digest(value, _DEEP) for names in classes for _, value in sorted(names.items(), key=str)],
        [(name, _digest(value, _DEEP)) for name, value in named],
        [_digest(vars(each), _DEEP) for each in (*functions, *objects)],
    )


def _digest(value: Any, depth: int) -> Any:
    if isinstance(value, bool | int | float | complex | str | bytes | None):
        return repr(value)
    if isinstance(value, torch.Tensor):
        return id(value), value._version
    if isinstance(value, torch.Generator):
        return value.get_state().numpy().tobytes()
    if isinstance(value, np.ndarray):
        return id(value), value.tobytes() if value.size <= _MANY else value.size
    if not depth or isinstance(value, ModuleType | type | FunctionType):
        return id(value)
    if isinstance(value, dict):
        return [(_digest(a, 1), _digest(b, depth - 1)) for a, b in list(value.items())[:_MANY]], len(value)
    if isinstance(value, list | tuple | set | frozenset):
        return id(value), [_digest(each, depth - 1) for each in list(value)[:_MANY]], len(value)
    if inspect.isroutine(value) or not hasattr(value, "__dict__"):
        return id(value), getattr(value, "cache_info", tuple)()
    return id(value), _digest(vars(value), depth - 1)


def call_first(section: Section, curve: Section, grad_output: float, t: float) -> None:
    """Call it with tensors, so that what it makes once and keeps is made of them, and not of what stands in."""
    try:
        section.alone().backward(np.array([t]), grad_output)
        if curve is not section:
            curve.alone().forward(np.array([t]))
    except FunctionFailed:
        return  # elsewhere it may not raise


def control(section: Section, curve: Section, grad_output: float, known: list[tuple[float, float, float]]) -> None:
    """Refuse where tensors give other numbers than the stand-in: t, the curve, backward."""
    if not known:
        return
    t, curves, gradients = (np.array(each) for each in zip(*known, strict=True))
    try:
        found = section.alone().backward(t, grad_output)
        values = found.values if curve is section else curve.alone().forward(t)
    except FunctionFailed as failed:
        raise Undecided("tensors raise where the stand-in does not") from failed
    returned = np.zeros(t.size) if found.grad_input is None else found.grad_input
    close, to_largest = _CLOSE[section.dtype]
    for real, enclosed in ((values, curves), (returned, gradients)):
        allowed = close * np.abs(enclosed) + to_largest * np.abs(enclosed).max()
        if not np.all(np.abs(real - enclosed) <= allowed):
            raise Undecided("with numbers it does something else")
