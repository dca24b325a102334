"""Runs a step again with other Functions, or with the slopes of another torch, from the same seed and state."""

import copy
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from ..documents.typography import typeset_number
from ..report.terminal import plain_text
from ..runtime.rng import preserve_rng, seed_all_generators
from . import hooks

_ROWS, _WIDTH = 24, 110  # of the table
Step = Callable[[], Any]


@dataclass(frozen=True)
class GradientPair:
    """The gradients of one parameter: their lengths as it is and swapped, and the cosine between them.

    None where there is no gradient, or it is 0.
    """

    name: str
    norm: float | None
    swapped_norm: float | None
    cosine: float | None


@dataclass(frozen=True, repr=False)
class Replay:
    """What came of a step as it is and ``swapped``: the numbers that ``backward`` was called on, and the gradients."""

    label: str
    losses: tuple[float, ...]
    swapped_losses: tuple[float, ...]
    gradients: tuple[GradientPair, ...]

    @property
    def cosines(self) -> dict[str, float | None]:
        """The cosine of the two gradients, by the name of the parameter."""
        return {each.name: each.cosine for each in self.gradients}

    def __repr__(self) -> str:
        return plain_text(self._write, _WIDTH).strip("\n")

    def _write(self, console: Console) -> None:
        # One may call backward less often than the other.
        losses = [*enumerate(zip(self.losses, self.swapped_losses, strict=False), 1)]
        for number, pair in dict(losses[:1] + losses[-1:]).items():
            loss, swapped = (typeset_number(each, 6) for each in pair)
            console.print(f"loss {number}: as it is {loss}, {self.label} {swapped}")
        table = Table("gradient of", "length", self.label, "cosine", box=SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
        found = sorted(self.gradients, key=lambda each: 2.0 if each.cosine is None else each.cosine)
        for each in found[:_ROWS]:
            table.add_row(each.name, *map(typeset_number, (each.norm, each.swapped_norm, each.cosine)))
        console.print(table)
        if len(found) > _ROWS:
            console.print(f"and {len(found) - _ROWS} more, all in cosines.")


def replay(
    step: Step, names: Mapping[str, Any], swapped: Mapping[type, Any], torch_version: str, steps: int, seed: int
) -> Replay:
    """Run ``step`` so many times as it is, and so many swapped; afterwards all in ``names`` is what it was.

    Each begins at the state that the modules, tensors and optimizers in ``names`` have now, without gradients.
    """
    for function, other in swapped.items():
        if not (isinstance(other, type) and issubclass(other, torch.autograd.Function)):
            raise TypeError(f"{other!r} is no torch.autograd.Function; give one in the place of {function.__name__}.")
    slopes: AbstractContextManager[Any] = nullcontext()
    if torch_version:
        slopes = ClampSlope(slope_at_bounds(torch_version))
    found = []
    for functions, mode in (({}, nullcontext()), (swapped, slopes)):
        with _state_kept(names) as leaves, preserve_rng(), hooks.swapped(functions), mode:
            seed_all_generators(seed)
            losses = _losses(step, steps)
            found.append((losses, {name: each.grad for name, each in leaves.items()}))
    (losses, gradients), (swapped_losses, others) = found
    label = ", ".join(
        [*(other.__name__ for other in swapped.values()), *[f"torch {torch_version}"] * bool(torch_version)]
    )
    moved = (name for name, each in gradients.items() if each is not None or others[name] is not None)
    pairs = tuple(_pair(name, gradients[name], others[name]) for name in moved)
    return Replay(label, losses, swapped_losses, pairs)


def names_of(step: Step) -> dict[str, Any]:
    """What the code of a step refers to, by name."""
    used = inspect.getclosurevars(inspect.unwrap(step))
    return {**used.globals, **used.nonlocals}


def _losses(step: Step, steps: int) -> tuple[float, ...]:
    """Run the step; the sums of what its backwards were called on."""
    losses: list[float] = []
    original = torch.autograd.backward

    def noted(tensors: Any, *arguments: Any, **named: Any) -> None:
        roots = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
        losses.append(sum(float(each.detach().sum()) for each in roots))
        original(tensors, *arguments, **named)

    torch.autograd.backward = noted
    try:
        for _ in range(steps):
            step()
    finally:
        torch.autograd.backward = original
    return tuple(losses)


@contextmanager
def _state_kept(names: Mapping[str, Any]) -> Iterator[dict[str, torch.Tensor]]:
    """Put back what tensors, gradients and optimizers hold; gives the leaves that require grad, without gradients."""
    tensors, optimizers = (
        dict[str, torch.Tensor](),
        [each for each in names.values() if isinstance(each, torch.optim.Optimizer)],
    )
    for name, each in names.items():
        if isinstance(each, torch.nn.Module):
            within = "" if name == "" else f"{name}."
            tensors |= {f"{within}{inner}": one for inner, one in (*each.named_parameters(), *each.named_buffers())}
        elif isinstance(each, torch.Tensor) and each.is_leaf:
            tensors[name] = each
    tensors = dict({id(each): (name, each) for name, each in reversed(tensors.items())}.values())  # each by one name
    held = {name: (each.detach().clone(), each.grad) for name, each in tensors.items()}
    states = [copy.deepcopy(each.state_dict()) for each in optimizers]
    leaves = {name: each for name, each in reversed(tensors.items()) if each.requires_grad}
    for leaf in leaves.values():
        leaf.grad = None
    try:
        yield leaves
    finally:
        with torch.no_grad():
            for name, each in tensors.items():
                each.copy_(held[name][0])
                each.grad = held[name][1]
        for optimizer, state in zip(optimizers, states, strict=True):
            optimizer.load_state_dict(state)


def _pair(name: str, one: torch.Tensor | None, other: torch.Tensor | None) -> GradientPair:
    norm, other_norm = (None if each is None else float(each.double().norm()) for each in (one, other))
    if one is None or other is None or not (norm and other_norm):
        return GradientPair(name, norm, other_norm, None)
    cosine = float((one.double() * other.double()).sum()) / (norm * other_norm)
    return GradientPair(name, norm, other_norm, max(-1.0, min(1.0, cosine)))


# The slope of torch.clamp exactly at its bounds, from a version of torch on: it was changed with 2.14.
_SLOPES = (((2, 0), 1.0), ((2, 14), 0.0))
_CLAMPS = ("clamp", "clip", "clamp_min", "clamp_max")


def slope_at_bounds(version: str) -> float:
    """The slope of ``torch.clamp`` at its bounds in a version of torch, such as "2.14". Raises ``ValueError``."""
    parts = version.split("+")[0].split(".")
    if len(parts) < 2 or not all(each.isdigit() for each in parts[:2]) or int(parts[0]) != 2:
        raise ValueError(
            f"{version!r} is no version of torch that is known here; give one from 2.0 on, such as '2.14'."
        )
    return next(slope for since, slope in reversed(_SLOPES) if (int(parts[0]), int(parts[1])) >= since)


class ClampSlope(torch.overrides.TorchFunctionMode):
    """Lets ``torch.clamp`` and its kin have this slope at their bounds, where those are numbers."""

    def __init__(self, slope: float) -> None:
        super().__init__()
        self._slope = slope

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, given = getattr(func, "__name__", ""), kwargs or {}
        if name in _CLAMPS and torch.is_grad_enabled() and args and args[0].requires_grad:
            words = {"clamp_min": ("min",), "clamp_max": ("max",)}.get(name, ("min", "max"))
            bounds = {**dict(zip(words, args[1:], strict=False)), **given}
            if not any(isinstance(each, torch.Tensor) for each in bounds.values()) and bounds.keys() <= {"min", "max"}:
                return _Clamp.apply(  # type: ignore[no-untyped-call]
                    args[0], bounds.get("min"), bounds.get("max"), self._slope
                )
        return func(*args, **given)


class _Clamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, low: float | None, high: float | None, slope: float) -> torch.Tensor:
        ctx.save_for_backward(x)
        ctx.bounds = low, high, slope
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
        (x,), (low, high, slope) = ctx.saved_tensors, ctx.bounds
        share = torch.ones_like(x)
        for bound, beyond in ((low, x.lt), (high, x.gt)):
            if bound is not None:
                share = share.masked_fill(x == bound, slope).masked_fill(beyond(bound), 0.0)
        return grad_output * share, None, None, None
