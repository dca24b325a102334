"""The arguments of ``check`` and ``look``: those of the Function, those of the section, and which are which."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from ..capture.samples import FunctionData
from ..inference.construction.op import free_names
from ..inference.source.signature import Signature
from ..protocol.errors import BadQuestion
from ..protocol.listed import did_you_mean, shortened
from ..schema.op import OpDescription
from ..url.address import PARAMETERS, Address, default_address, value_text
from ..url.numbers import write_number
from ..url.parse import read_address
from ..user_code.surrogates import antiderivative
from ..worker.answer import device_summary

_MEANT = ("surrogate", "surrogate_gradient")
_OWN = ("recipe", "x", "wrt", "of", "example_inputs", *_MEANT, "height")
_OPTIONS = frozenset((*_OWN, *PARAMETERS))
_NUMBERS = (torch.Tensor, list, tuple)
_LONGEST = 40  # characters of a value in a sentence
_EXAMPLES = {"recipe": '"x: float64[7]; k = 2"', "wrt": '"weight[0,1]"', "of": '"y[0]"'}  # of options that are text


@dataclass(frozen=True)
class CheckArguments:
    """The arguments of ``check``: how the Function is called, and which section is asked for.

    ``positional`` are those behind the Function. Once sorted, ``recipe`` or ``example_inputs`` has them, and
    ``tensors`` are those that were given by name. ``data`` is what was seen of the Function in a step.
    """

    recipe: str = ""
    x: tuple[float, float] | str | None = None
    wrt: str = ""
    of: str = ""
    example_inputs: Any = None
    surrogate: Any = None
    surrogate_gradient: Any = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    positional: tuple[Any, ...] = ()
    height: int | None = None
    tensors: Mapping[str, torch.Tensor] = field(default_factory=dict)
    data: FunctionData | None = None

    @property
    def somewhere(self) -> bool:
        """Whether a section is asked for explicitly."""
        return bool(self.x is not None or self.wrt or self.of or self.parameters)

    @property
    def says_the_call(self) -> bool:
        """Whether they say with which tensors the Function is called."""
        tensors = any(isinstance(each, torch.Tensor) for each in (*self.own.values(), *self.parameters.values()))
        return bool(self.positional) or tensors or bool({"recipe", "example_inputs"} & self.own.keys())

    @property
    def own(self) -> dict[str, Any]:
        """What is given for the arguments that ``check`` or ``look`` itself has."""
        values = {name: getattr(self, name) for name in _OWN}
        return {name: one for name, one in values.items() if one is not None and not (isinstance(one, str) and not one)}

    @property
    def meant(self) -> Callable[..., torch.Tensor] | None:
        """The function whose derivative backward is meant to be, if that is said."""
        return antiderivative(self.surrogate_gradient) if self.surrogate_gradient else self.surrogate

    def without(self, names: Collection[str]) -> CheckArguments:
        """The same without some parameters."""
        return replace(self, parameters={name: one for name, one in self.parameters.items() if name not in names})

    def for_op(self) -> CheckArguments:
        """The same for an op, whose tensors hold the inputs of that name. Raises ``BadQuestion``."""
        if isinstance(self.x, torch.Tensor):
            return replace(self, x=None, parameters={**self.parameters, "x": self.x}).for_op()
        if self.positional or {"recipe", "example_inputs"} & self.own.keys():
            raise BadQuestion(
                "An Op declares itself how it is called; change its inputs, or give its Function instead."
            )
        _check_kinds(self)
        return self

    def for_function(self, name: str, signature: Signature) -> CheckArguments:
        """The same with each argument where it belongs. Raises ``BadQuestion`` where that is not clear."""
        named = _with_tensors_apart(self, name, [each.name for each in signature.arguments if not each.star])
        _check_kinds(named)
        return _with_one_call(named)

    def address(self, op: OpDescription) -> Address:
        """The address of the section of a described op; raises ``BadQuestion``."""
        return read_address(op, device_summary(), self._words()) if self.somewhere else default_address(op)

    def _words(self) -> dict[str, str]:
        query = {name: _text(name, value) for name, value in self.parameters.items()}
        query |= {name: text for name, text in (("wrt", self.wrt), ("of", self.of)) if text}
        if self.x is None or isinstance(self.x, str):
            return query | ({"x": self.x} if self.x else {})
        if not isinstance(self.x, list | tuple) or len(self.x) != 2:
            raise BadQuestion(
                f"x={_short(self.x)} is not an interval; give its two ends, like x=(-3, 3), or a tensor for an "
                "argument x."
            )
        return query | {"start": _text("x", self.x[0]), "stop": _text("x", self.x[1])}


def check_names(name: str, values: Mapping[str, Any], known: list[str]) -> None:
    """Raise ``BadQuestion`` for a name that is neither an argument nor a parameter of a URL."""
    for each in values:
        if each not in (*known, *PARAMETERS):
            hint = did_you_mean(each, [*known, *PARAMETERS], f"it has {', '.join(known)}.")
            raise BadQuestion(f"{name} has no argument {each}; {hint}")


def _with_tensors_apart(wanted: CheckArguments, name: str, names: list[str]) -> CheckArguments:
    """The same with the tensors for arguments of these ``names`` in ``tensors``, and other values as the op calls them.

    A tensor is never an option, and what is given for ``x`` else is its interval; any other value under a name that
    both an argument and an option have is refused.
    """
    free = free_names(names)
    argument = {text: each for each, text in free.items()} | {each: each for each in names}
    tensors, values = dict[str, torch.Tensor](), dict[str, Any]()
    for each, value in {**wanted.own, **wanted.parameters}.items():
        if isinstance(value, torch.Tensor) and each in argument:
            tensors[argument[each]] = value
        elif each in names and each in _OPTIONS and each != "x":
            raise BadQuestion(
                f"{each} is an argument of {name} and an option of check; write {free[each]}={_short(value)} for the "
                f"argument, or for the option check a function that sets the argument: lambda x: {name}.apply(x, ...)."
            )
        elif each not in wanted.own:
            values[free.get(each, each)] = value
    cleared: dict[str, Any] = {each: "" if each in _EXAMPLES else None for each in wanted.own if each in tensors}
    return replace(wanted, parameters=values, tensors=tensors, **cleared)


def _check_kinds(wanted: CheckArguments) -> None:
    """Raise ``BadQuestion`` for an option of the wrong kind."""
    for name, example in _EXAMPLES.items():
        value = getattr(wanted, name)
        if not isinstance(value, str):
            raise BadQuestion(f"{name}={_short(value)} is not a text; write it like {name}={example}.")
    for name in _MEANT:
        value = getattr(wanted, name)
        if value is not None and not callable(value):
            raise BadQuestion(f"{name}={_short(value)} is not a function; write it like {name}=lambda x: x.")
    if wanted.surrogate and wanted.surrogate_gradient:
        raise BadQuestion("surrogate and surrogate_gradient are two ways to say one thing; give one of them.")
    height = wanted.height
    if height is not None and (type(height) is not int or height <= 0):
        raise BadQuestion(f"height={_short(height)} is not a number of pixels; give a whole number, like height=800.")


def _with_one_call(wanted: CheckArguments) -> CheckArguments:
    """The same with the positional arguments as ``recipe`` or ``example_inputs``; raises ``BadQuestion`` for two."""
    ways = bool(wanted.positional) + bool(wanted.recipe) + (wanted.example_inputs is not None)
    positional = wanted.positional
    alone = positional[0] if len(positional) == 1 else None
    if isinstance(alone, str):
        wanted = replace(wanted, recipe=alone)
    elif positional:
        wanted = replace(wanted, example_inputs=alone if isinstance(alone, tuple | list | Mapping) else positional)
    if ways > 1 or (wanted.recipe and wanted.tensors):
        raise BadQuestion(
            "The call is given twice; give either its arguments, as in check(F, (x, w)), or a recipe, "
            'as in check(F, "x: float64[7]").'
        )
    return replace(wanted, positional=())


def _text(name: str, value: Any) -> str:
    """A value as the query of a URL has it; raises ``BadQuestion``."""
    if isinstance(value, _NUMBERS) or hasattr(value, "tolist"):
        try:
            flat = torch.as_tensor(value).detach().reshape(-1).tolist()
            return ",".join(write_number(float(each)) for each in flat)
        except (TypeError, ValueError, RuntimeError):
            pass
    elif isinstance(value, bool | int | float | str):
        return value_text(value)
    raise BadQuestion(f"{name}={_short(value)} cannot be asked for; give a number, a word, or the numbers of a tensor.")


def _short(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"tensor of {list(value.shape)}"
    return shortened(repr(value), _LONGEST)
