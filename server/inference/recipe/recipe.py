"""Recipe: how a Function is called, as plain data and as one line of text; the values of its
tensors, filled from a seed; and the errors when there is none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, Literal

import torch

from ...runtime.arguments import copy_if_mutable
from ...runtime.kept_values import spread_dim


def identity(x: Any) -> Any:
    """Return the argument: the identity function, which a recipe can name."""
    return x


FLOATS = ("float64", "float32", "float16", "bfloat16")
# The complex dtypes, each with that of its real and imaginary part.
COMPLEX = {"complex128": "float64", "complex64": "float32"}
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
RECIPE_DTYPES = (*FLOATS, *COMPLEX, *INTEGERS, "bool")
NAMED_FUNCTIONS = ("tanh", "abs", "exp", "sin", "relu", "sigmoid", "mul", "sub", "addcmul")
_KINDS = (*RECIPE_DTYPES, "float8_e4m3fn")
EXAMPLE_MODULE = "torch.nn.Tanh()"
NAMED_VALUES: dict[str, Any] = {
    "identity": identity,
    **{f"torch.{name}": getattr(torch, name) for name in (*NAMED_FUNCTIONS, *_KINDS)},
    EXAMPLE_MODULE: torch.nn.Tanh(),
    **{name: float(name) for name in ("inf", "-inf", "nan")},
}
# An object of which only attributes are read is written as a namespace of them.
NAMESPACE_CLASS = "types.SimpleNamespace"


def name_of_value(value: Any) -> str:
    """The name that a recipe uses for a callable or dtype, which have no literal; "" if it has none."""
    if not callable(value) and not isinstance(value, torch.dtype):
        return ""
    found = next((text for text, known in NAMED_VALUES.items() if value is known), "")
    return found or (str(value) if isinstance(value, torch.dtype) else "")


def namespace_attributes(value: Any) -> dict[str, Any] | None:
    """The attributes of an object that a recipe can write; None for anything else."""
    return vars(value) if type(value) is SimpleNamespace else None


_VectorFill = Literal["onehot", "rising", "unit", "simplex", "marginal"]
_SquareFill = Literal["spd", "stable", "symmetric", "orthogonal"]
_FloatFill = Literal["normal", "positive", "negative", "signs", "binary", "tiny", _VectorFill, _SquareFill]
Fill = Literal[_FloatFill, "index", "shuffled", "inverse", "offsets", "lengths", "mask"]
# The fills that may be written behind the shape of a floating tensor, and of one of integers.
SQUARE_FILLS = ("spd", "stable", "symmetric", "orthogonal")
FLOAT_FILLS = (
    *("positive", "negative", "signs", "binary", "onehot", "rising", "unit", "simplex", "marginal", "tiny"),
    *SQUARE_FILLS,
)
_REAL_FILLS = ("onehot", "unit", "simplex", "marginal", *SQUARE_FILLS)
COMPLEX_FILLS = tuple(each for each in FLOAT_FILLS if each not in _REAL_FILLS)
# Those of values that tell things apart, and have no slope.
LABEL_FILLS = ("signs", "binary", "onehot")
INDEX_FILLS = ("shuffled", "inverse", "offsets", "lengths")
OBJECT_TEXT = "<object>"


class BadRecipe(Exception):
    """A recipe that cannot be read; the message is one sentence: the culprit, what is allowed, an example."""


class NotInferred(Exception):
    """No call of a Function was found that works, or the one of a recipe does not.

    ``argument`` is the one to blame ("" if none), ``recipe`` the best text to edit, ``tried`` some calls with their
    errors, and ``parameters`` the evidence on each argument. ``error`` is what the Function itself raises, with its
    traceback, where no other recipe would help. ``sayable`` says that a recipe written by the user may work; where to
    write it is added by the code that shows the sentence. ``missing_here`` says that it asks for what is not on this
    machine, or for tensors on a GPU.
    """

    def __init__(
        self,
        sentence: str,
        argument: str = "",
        recipe: str = "",
        tried: tuple[tuple[str, str], ...] = (),
        parameters: tuple[tuple[str, str], ...] = (),
        error: BaseException | None = None,
        sayable: bool = False,
        missing_here: bool = False,
    ) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.argument = argument
        self.recipe = recipe
        self.tried = tried
        self.parameters = parameters
        self.error = error
        self.sayable = sayable
        self.missing_here = missing_here


@dataclass(frozen=True)
class TensorArgument:
    """A tensor: ``fill`` says how it is filled, and ``below`` bounds the indices of an ``index``.

    Only a floating or complex tensor with ``grad`` requires grad, and can be swept; integers are an ``index``,
    ``shuffled`` or the ``inverse`` of that, ``offsets`` or ``lengths``, bools a ``mask``. ``held`` says that it is
    without grad though nobody declared so: it is ``data``, or backward returns ``None`` for it. Positive definite and
    stable matrices are real.
    """

    name: str
    shape: tuple[int, ...] = ()
    dtype: str = "float64"
    fill: Fill = "normal"
    below: int = 2
    grad: bool = True
    held: Literal["", "data", "None"] = field(default="", compare=False)

    def __post_init__(self) -> None:
        if self.dtype == "bool":
            self._settle("mask")
        elif "int" in self.dtype:
            self._settle(self.fill if self.fill in INDEX_FILLS else "index")
        if self.fill in _REAL_FILLS and self.is_complex:
            object.__setattr__(self, "dtype", COMPLEX[self.dtype])
        if self.fill != "index":
            object.__setattr__(self, "below", 2)

    def _settle(self, fill: Fill) -> None:
        object.__setattr__(self, "fill", fill)
        object.__setattr__(self, "grad", False)

    @property
    def text(self) -> str:
        """The argument as a recipe writes it, such as ``x: float64[7] positive``."""
        words = [f"{self.name}: {self.dtype}[{','.join(map(str, self.shape))}]"]
        words += [f"< {self.below}"] * (self.fill == "index")
        words += [self.fill] * (self.fill in (*FLOAT_FILLS, *INDEX_FILLS))
        words += ["nograd"] * (self.floating and not self.grad)
        return " ".join(words)

    @property
    def floating(self) -> bool:
        """Whether it holds floating numbers, or complex ones."""
        return self.fill not in ("index", *INDEX_FILLS, "mask")

    @property
    def is_complex(self) -> bool:
        """Whether it holds complex numbers."""
        return self.dtype in COMPLEX


@dataclass(frozen=True)
class Constant:
    """An argument that is not a tensor. ``text`` is how a recipe writes it; without one its literal is written."""

    name: str
    value: Any = field(hash=False)
    text: str = ""

    @property
    def written(self) -> str:
        """The value as a recipe writes it."""
        return self.text or literal(self.value)


@dataclass(frozen=True)
class Recipe:
    """The positional arguments of one call, in the order of ``forward``; those behind them keep their defaults.

    ``like`` says that it is an example: other shapes hold as well, and what it holds constant is not declared so.
    """

    arguments: tuple[TensorArgument | Constant, ...]
    like: bool = field(default=False, compare=False)

    def text(self) -> str:
        """The recipe as one line of text, which ``parse_recipe`` can read, without the word ``like``."""
        return "; ".join(
            each.text if isinstance(each, TensorArgument) else f"{each.name} = {each.written}"
            for each in self.arguments
        )

    @property
    def source(self) -> str:
        """The same line with the word ``like`` before an example: what is written into a file."""
        return "like " * self.like + self.text()

    @property
    def inputs(self) -> tuple[TensorArgument, ...]:
        """The tensors that require grad."""
        return tuple(each for each in self.arguments if isinstance(each, TensorArgument) and each.grad)

    def with_argument(self, place: int, given: TensorArgument | Constant) -> Recipe:
        """The same with another argument in one place."""
        return replace(self, arguments=(*self.arguments[:place], given, *self.arguments[place + 1 :]))

    def tensors(self, seed: int = 0) -> dict[str, torch.Tensor]:
        """Every tensor of the recipe by name, filled from the seed with values of two decimal places."""
        return {
            each.name: fill_tensor(each.shape, each.fill, each.dtype, each.below, seed + place)
            for place, each in enumerate(self.arguments)
            if isinstance(each, TensorArgument)
        }

    def build(self, seed: int = 0, given: Mapping[str, torch.Tensor] | None = None) -> list[Any]:
        """New positional arguments; tensors that require grad are leaves times 1, so that they may be written to.

        Tensors in ``given``, of the shape and dtype of the recipe, replace those filled from the seed.
        """
        return [one for _, one in self.leaves(seed, given)]

    def leaves(
        self, seed: int = 0, given: Mapping[str, torch.Tensor] | None = None
    ) -> list[tuple[torch.Tensor | None, Any]]:
        """For every argument its leaf (None unless it requires grad) and the value that is passed."""
        tensors = self.tensors(seed)
        tensors |= {name: one for name, one in (given or {}).items() if _alike(one, tensors.get(name))}
        pairs: list[tuple[torch.Tensor | None, Any]] = []
        for each in self.arguments:
            if isinstance(each, Constant):
                pairs.append((None, copy_if_mutable(each.value)))
            elif each.grad:
                leaf = tensors[each.name].detach().clone().requires_grad_()
                pairs.append((leaf, leaf * 1))
            else:
                pairs.append((None, tensors[each.name].clone()))
        return pairs


def is_square(shape: tuple[int, ...]) -> bool:
    """Whether a tensor of this shape holds square matrices."""
    return len(shape) >= 2 and shape[-1] == shape[-2]


def literal(value: Any) -> str:
    """A value as a literal for ``parse_recipe``; inf in a container is written as 1e999, which overflows to it."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else _nested_literal(value)


def _nested_literal(value: Any) -> str:
    if isinstance(value, float) and math.isinf(value):
        return "1e999" if value > 0 else "-1e999"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_nested_literal(key)}: {_nested_literal(each)}' for key, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_nested_literal, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(_nested_literal, value))}{',' * (len(value) == 1)})"
    held = namespace_attributes(value)
    if held is not None:
        return f"{NAMESPACE_CLASS}({', '.join(f'{name}={_nested_literal(each)}' for name, each in held.items())})"
    return name_of_value(value) or repr(value)


def _alike(one: torch.Tensor, other: torch.Tensor | None) -> bool:
    return other is not None and one.shape == other.shape and one.dtype == other.dtype


# Normal values closer to 0, where many Functions have kinks, are replaced by _REPLACEMENT.
_MIN_MAGNITUDE, _REPLACEMENT = 0.05, 0.25
# Range of positive values: p and 1 - p are both probabilities.
LOW, HIGH = 0.1, 0.9
TINY = 1e-12
# The Gershgorin discs of a stable matrix: minus their centres, how far these are from that, and the largest radius.
_STABLE_CENTRE, _STABLE_SPREAD, _STABLE_RADIUS = 0.4, 0.05, 0.2
_IMAGINARY_SEED = 1000


def fill_tensor(
    shape: tuple[int, ...], fill: str = "normal", dtype: str = "float64", below: int = 2, seed: int = 0
) -> torch.Tensor:
    """A tensor of this shape, dtype and fill; the same seed gives the same values everywhere.

    ``positive`` and ``negative`` are at most 1 in magnitude, ``signs`` are -1 or 1, ``binary`` 0 or 1, ``rising`` goes
    from -1 to 1 along the last dimension, along which ``simplex`` and ``marginal`` are probabilities, which add up
    to 1, ``unit`` has the norm 1 and ``onehot`` is one of those; ``tiny`` is negligible. An ``index`` is < ``below``,
    ``shuffled`` is a permutation of the last dimension, ``inverse`` the one that undoes it; ``offsets`` are 0, 1, 2 and
    so on along it, ``lengths`` 1, 2, 3; and ``spd`` are symmetric
    positive definite matrices in the last two, ``stable`` such whose powers and exponentials die out, ``symmetric`` and
    ``orthogonal`` others. Of complex numbers both parts are filled so.
    """
    if dtype in COMPLEX:
        parts = (fill_tensor(shape, fill, COMPLEX[dtype], below, each) for each in (seed, seed + _IMAGINARY_SEED))
        return torch.complex(*parts)
    numbers = torch.Generator().manual_seed(seed)
    kind = getattr(torch, dtype)
    count = torch.arange(math.prod(shape)).reshape(shape)
    if fill == "index":
        return count.remainder(max(1, below)).to(kind)
    if fill in INDEX_FILLS:
        last = max((1, *shape[-1:]))
        if fill in ("offsets", "lengths"):
            return (count.remainder(last) + (fill == "lengths")).to(kind)
        return (count + (1 if fill == "shuffled" else -1)).remainder(last).to(kind)
    if fill == "rising":
        return torch.linspace(-1, 1, shape[-1] if shape else 1, dtype=torch.float64).expand(shape).clone().to(kind)
    if fill == "tiny":
        return torch.full(shape, TINY, dtype=torch.float64).to(kind)
    if fill == "mask":
        return (count % 3 != 1).to(kind)
    if fill == "onehot" and shape:
        row = torch.arange(math.prod(shape[:-1])).reshape(*shape[:-1], 1)
        return (torch.arange(shape[-1]) == row.remainder(max(1, shape[-1]))).to(kind)
    if fill in ("positive", "negative"):
        share = _two_decimals(LOW + (HIGH - LOW) * torch.rand(shape, generator=numbers, dtype=torch.float64))
        return (share if fill == "positive" else -share).to(kind)
    values = torch.randn(shape, generator=numbers, dtype=torch.float64)
    if fill in ("simplex", "marginal") and values.numel():
        dim = spread_dim(shape)
        return _probabilities(values.reshape(shape or (1,)).movedim(dim, -1)).movedim(-1, dim).reshape(shape).to(kind)
    if fill in ("signs", "binary"):
        values = _of_both_signs(values)
        return torch.where(values < 0, -1 if fill == "signs" else 0, 1).to(kind)
    if fill in _FILLED:
        return _FILLED[fill](values).to(kind)
    return _two_decimals(torch.where(values.abs() < _MIN_MAGNITUDE, _REPLACEMENT, values)).to(kind)


def _of_both_signs(values: torch.Tensor) -> torch.Tensor:
    """The same with the first number of a row turned over whose signs are all alike: it would show one case alone."""
    if not values.dim() or values.shape[-1] < 2:
        return values
    below = values < 0
    alike = below.all(dim=-1) | ~below.any(dim=-1)
    return torch.cat((torch.where(alike, -values[..., 0], values[..., 0]).unsqueeze(-1), values[..., 1:]), dim=-1)


def _probabilities(values: torch.Tensor) -> torch.Tensor:
    """Probabilities along the last dimension, none of them 0; the largest is what the others leave."""
    # Of many each is smaller, and takes more decimals.
    decimals = max(2, math.ceil(math.log10(values.shape[-1] / 2)) + 1)
    shares = values.softmax(dim=-1).round(decimals=decimals).clamp(min=10.0**-decimals)
    rest = 1 - shares.sum(dim=-1, keepdim=True)
    return shares.scatter_add(-1, shares.argmax(dim=-1, keepdim=True), rest).round(decimals=decimals)


def _positive_definite(values: torch.Tensor) -> torch.Tensor:
    """Symmetric positive definite matrices from square ones: diagonally dominant, so rounding does no harm."""
    half = _two_decimals((values + values.mT) / 4)
    return half + torch.diag_embed(_two_decimals(half.abs().sum(dim=-1) + 0.5))


def _stable(values: torch.Tensor) -> torch.Tensor:
    """Matrices from square ones whose Gershgorin discs are in the unit disc and in the left half plane.

    A map that goes through them contracts, and a system that moves by them comes to rest.
    """
    diagonal = values.diagonal(dim1=-2, dim2=-1)
    between = values - torch.diag_embed(diagonal)
    largest = torch.maximum(between.abs().sum(dim=-1), between.abs().sum(dim=-2)).amax(dim=-1)[..., None, None]
    radii = (100 * _STABLE_RADIUS * between / largest.clamp(min=1.0)).trunc() / 100
    return radii + torch.diag_embed(_two_decimals(_STABLE_SPREAD * diagonal.tanh() - _STABLE_CENTRE))


def _two_decimals(values: torch.Tensor) -> torch.Tensor:
    return (values * 100).round() / 100


# How numbers that are normally distributed become such a tensor.
_FILLED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "spd": _positive_definite,
    "stable": _stable,
    "symmetric": lambda values: _two_decimals((values + values.mT) / 2),
    "orthogonal": lambda values: torch.linalg.matrix_exp((values - values.mT) / 2),
    "unit": lambda values: torch.nn.functional.normalize(values, dim=-1) if values.dim() else torch.ones(()),
}
