"""The nouns of an op: what it takes, what it returns, and what it claims about its own gradient."""

from __future__ import annotations

import ast
import inspect
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from itertools import product
from typing import Any, Literal

import torch

# Beyond this a page has no use for single elements, and every point of a section would take too long.
MOST_ELEMENTS = 1 << 17

Claim = Literal["exact", "surrogate", "broken"]
Kind = Literal["float", "int", "switch", "choice"]
Value = float | int | bool | str

# The names of the address, which a test compares: nothing of ours stands below this module.
RESERVED = frozenset(
    (
        *("of", "wrt", "start", "stop", "count", "grad_output", "dtype", "device", "step", "atol", "rtol", "order"),
        *("view", "at", "compile", "lr", "steps", "goal", "boxes", "wrt2", "start2", "stop2", "recipe", "data"),
        *("layout", "theme", "hide", "width", "height", "sliders", "left", "right", "format", "token"),
    )
)


class BadDeclaration(Exception):
    """An op declares something that cannot be; the message names the op's file and the way to fix it."""


@dataclass(frozen=True)
class Input:
    """A tensor argument of ``forward``.

    ``shape`` is the tensor's shape; ``()`` stands for one number. ``domain`` is the interval swept at
    first. ``value`` is where the tensor is held while something else is swept: one number for all
    elements, all of them flattened in row-major order, or a tensor.
    """

    name: str
    description: str = ""
    shape: tuple[int, ...] = ()
    domain: tuple[float, float] = (-3.0, 3.0)
    value: float | tuple[float, ...] | torch.Tensor = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.value, torch.Tensor):
            object.__setattr__(self, "value", tuple(self.value.reshape(-1).tolist()))

    @property
    def values(self) -> tuple[float, ...]:
        """The held elements, flattened in row-major order."""
        if isinstance(self.value, tuple):
            return self.value
        assert not isinstance(self.value, torch.Tensor)
        return (self.value,) * math.prod(self.shape)


@dataclass(frozen=True)
class Parameter:
    """An argument of ``forward`` that is not a tensor, so autograd returns no gradient for it.

    ``kind`` is ``float``, ``int``, ``switch`` (a bool) or ``choice`` (one of ``choices``); the first two
    are bounded by ``minimum`` and ``maximum``. ``below`` names another number that this one is meant not to exceed.
    """

    name: str
    default: Value
    minimum: float = -math.inf
    maximum: float = math.inf
    description: str = ""
    kind: Kind = "float"
    choices: tuple[str, ...] = ()
    below: str = ""


@dataclass(frozen=True)
class Descent:
    """The gradient descent through an op that is shown first: x ← x − ``lr`` · gradient, ``steps`` times.

    The loss is the mean of (output − ``goal``)², with one number for all elements of the output or all of them
    flattened in row-major order. ``at`` is where the element swept first starts; the others start where they are
    held. What is None is chosen from the numbers.
    """

    goal: float | tuple[float, ...] | None = None
    lr: float | None = None
    steps: int | None = None
    at: float | None = None


@dataclass(frozen=True)
class Op:
    """A ``torch.autograd.Function`` with the words and numbers one needs to look at it.

    ``forward``, ``backward`` and ``surrogate_formula`` are LaTeX. ``call`` binds inputs and parameters to
    the Function; by default ``function.apply(*inputs, *parameters)``. ``surrogate`` is the function whose
    derivative ``backward`` is meant to be; it is called like ``call``, and given as keywords, if it names them,
    ``grad_output`` and ``wrt``, the input by which it is differentiated. ``surrogate_takes`` names the inputs and
    parameters that it takes, where it does not take all: then it is meant for the other values of that call alone.
    ``broken`` says what is wrong with a specimen, and ``check`` names the check of the contract that finds it.
    ``wrt`` and ``of`` name the elements looked at first, such as ``"weight[0,1]"``; ``descent`` is the gradient
    descent shown first; ``aside`` writes a sentence below the docstring, of what is computed here; ``dtype`` is what is
    computed in at first, by its name, and ``grad_output`` what backward is handed at first.

    Without ``inputs`` it says what is claimed, and how the Function is called is found out: ``surrogate`` is then
    called with as many arguments of forward, in their order, as it takes.

    Raises ``BadDeclaration`` when a name is reserved or doubled, or a default lies out of its bounds.
    """

    function: type[torch.autograd.Function]
    title: str = ""
    group: str = ""
    forward: str = ""
    backward: str = ""
    inputs: tuple[Input, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    outputs: tuple[str, ...] = ("y",)
    call: Callable[..., Any] | None = None
    surrogate: Callable[..., torch.Tensor] | None = None
    surrogate_formula: str = ""
    surrogate_takes: tuple[str, ...] | None = None
    broken: str = ""
    check: str = ""
    wrt: str = ""
    of: str = ""
    descent: Descent | None = None
    aside: Callable[[], str] | None = None
    dtype: Literal["float64", "float32"] = "float64"
    grad_output: float = 1.0
    reference: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        for problem in self._problems():
            raise BadDeclaration(f"{self.function.__module__}: {problem}")

    def _problems(self) -> list[str]:
        large = [
            f"{i.name!r} has {math.prod(i.shape)} elements, and at most {MOST_ELEMENTS} can be looked at"
            for i in self.inputs
            if math.prod(i.shape) > MOST_ELEMENTS
        ]
        if large:  # what follows looks at each of them
            return large
        names = [each.name for each in self.inputs] + [each.name for each in self.parameters]
        problems = [f"{name!r} is a reserved word of the address, rename it" for name in names if name in RESERVED]
        problems += [f"{name!r} is declared twice" for name in set(names) if names.count(name) > 1]
        problems += ["it has no input to sweep"] * bool(not self.inputs and (self.parameters or self.call))
        problems += [
            f"{i.name!r} has no elements, so there is nothing to sweep; declare first an input that has some"
            for i in self.inputs[:1]
            if not math.prod(i.shape)
        ]
        problems += [f"check={self.check!r} is for a specimen, say what is broken"] * bool(
            self.check and not self.broken
        )
        problems += [f"grad_output={self.grad_output!r} is not a finite number"] * (not math.isfinite(self.grad_output))
        problems += [
            f"the default {p.default!r} of {p.name!r} is not one of {', '.join(p.choices)}"
            for p in self.parameters
            if p.kind == "choice" and p.default not in p.choices
        ]
        problems += [f"wrt={self.wrt!r} is not an element of its inputs"] * bool(
            self.inputs and self.wrt and self.wrt not in self._swept()
        )
        problems += [f"of={self.of!r} is not an element of its outputs"] * (
            self.of.partition("[")[0] not in ("", *self.outputs)
        )
        numbers = {p.name for p in self.parameters if p.kind in ("float", "int")}
        problems += [
            f"{p.name!r} is meant to be below {p.below!r}, which is no number among its parameters"
            for p in self.parameters
            if p.below and not {p.name, p.below} <= numbers
        ]
        problems += [
            f"the default {p.default!r} of {p.name!r} is outside [{p.minimum}, {p.maximum}]"
            for p in self.parameters
            if p.kind in ("float", "int") and not p.minimum <= float(p.default) <= p.maximum
        ]
        problems += [
            f"{i.name!r} of shape {i.shape} needs {math.prod(i.shape)} values, not {len(i.values)}"
            for i in self.inputs
            if len(i.values) != math.prod(i.shape)
        ]
        return problems

    def _swept(self) -> Iterator[str]:
        """The names of all elements that can be swept."""
        for each in self.inputs:
            for index in product(*map(range, each.shape)):
                one = math.prod(each.shape) == 1
                yield each.name if one else f"{each.name}[{','.join(map(str, index))}]"
        yield from (each.name for each in self.parameters if each.kind == "float")

    def input(self, name: str) -> Input:
        """The input of this name."""
        return {each.name: each for each in self.inputs}[name]

    @property
    def says_the_call(self) -> bool:
        """Whether it declares how the Function is called."""
        return bool(self.inputs)

    @property
    def claim(self) -> Claim:
        """What the op says of its own ``backward``."""
        if self.broken:
            return "broken"
        return "surrogate" if self.surrogate else "exact"

    @property
    def follows_sign(self) -> bool:
        """Whether the surrogate depends on ``grad_output``, as no derivative may."""
        return "grad_output" in self._surrogate_arguments

    def surrogate_for(self, wrt: str, grad_output: float) -> Callable[..., torch.Tensor] | None:
        """The surrogate for one input and one ``grad_output``: the same object for the same two, as far as they matter.

        None where there is none.
        """
        given = {"wrt": wrt, "grad_output": grad_output}
        told = tuple((name, value) for name, value in given.items() if name in self._surrogate_arguments)
        return _bound(self.surrogate, told) if self.surrogate and told else self.surrogate

    @cached_property
    def _surrogate_arguments(self) -> frozenset[str]:
        try:
            return frozenset(inspect.signature(self.surrogate).parameters) if self.surrogate else frozenset()
        except ValueError:  # torch's own functions have no signature
            return frozenset()

    @property
    def doc(self) -> str:
        """The Function's docstring, with what ``aside`` adds to it: the page's prose."""
        return "\n\n".join([inspect.cleandoc(self.function.__doc__ or ""), *([self.aside()] if self.aside else [])])

    @property
    def source(self) -> str:
        """The source that runs: the file of a gallery op but for its imports and declaration, else the class.

        Empty where Python has none to show, as of what is written in C.
        """
        return self._written[1]

    @property
    def first_line(self) -> int:
        """The line of the Function's file at which ``source`` begins."""
        return self._written[0]

    def show_source(self, first_line: int, source: str) -> None:
        """Have this as the source that runs, in the place of what Python would show."""
        vars(self)["_written"] = first_line, source

    @cached_property
    def _written(self) -> tuple[int, str]:
        module = sys.modules.get(self.function.__module__)
        if module is None or getattr(getattr(module, "op", None), "function", None) is not self.function:
            try:
                lines, first = inspect.getsourcelines(self.function)
            except (OSError, TypeError):
                return 1, ""
            return first, "".join(lines)
        lines, _ = inspect.getsourcelines(module)
        written = (ast.ClassDef, ast.FunctionDef, ast.Assign)
        nodes = [node for node in ast.parse("".join(lines)).body if isinstance(node, written) and not _declares(node)]
        first = min(each.lineno for node in nodes for each in (node, *getattr(node, "decorator_list", ())))
        last = max(node.end_lineno or node.lineno for node in nodes)
        return first, "".join(lines[first - 1 : last])

    def __call__(self, *arguments: Any) -> Any:
        """Run the Function on its inputs and parameters, in the order declared."""
        return (self.call or self.function.apply)(*arguments)


@cache
def slope_of_clamp() -> float:
    """The slope that ``torch.clamp`` takes at its bounds, where any from 0 to 1 is right: releases of torch differ."""
    with torch.enable_grad():
        x = torch.ones((), requires_grad=True)
        return float(torch.autograd.grad(x.clamp(-1, 1), x)[0])


@lru_cache(maxsize=64)
def _bound(function: Callable[..., torch.Tensor], given: tuple[tuple[str, Any], ...]) -> Callable[..., torch.Tensor]:
    return partial(function, **dict(given))


def _declares(node: ast.stmt) -> bool:
    """Whether this is the declaration of the op."""
    return isinstance(node, ast.Assign) and [ast.unparse(each) for each in node.targets] == ["op"]
