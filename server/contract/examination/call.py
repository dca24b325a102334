"""A working call of an op: input tensors it can be called with repeatedly, and the graph of each run.

Where the Function treats several numbers independently, they are stacked into one call.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch

from ....ops import Op
from ...numerics.differentiation.arithmetic import arithmetic_precision
from ...numerics.tolerance import USUAL, Allowance
from ...runtime import rng
from ...runtime.arguments import input_shape, tensors_of
from ...runtime.batching import GOLDEN_RATIO
from ...runtime.rng import GeneratorStates, irregular_tensor
from ...runtime.section import Section
from ...runtime.timeouts import note_call_start
from ...runtime.user_call import call_user_code
from ...runtime.vjp import pull_back, uneven

TensorsByName = Mapping[str, torch.Tensor]
GradientsByName = dict[str, torch.Tensor | None]


@dataclass(frozen=True)
class _Arguments:
    """Fresh arguments of one call: ``tensors`` by name, ``parameters``, and the ``leaves`` that require grad."""

    tensors: dict[str, torch.Tensor]
    parameters: dict[str, Any]
    leaves: dict[str, torch.Tensor]

    @property
    def arguments(self) -> tuple[Any, ...]:
        """All arguments in the order in which the op takes them."""
        return (*self.tensors.values(), *self.parameters.values())


@dataclass(frozen=True)
class ForwardRun:
    """One run of forward: what it ``returned``, and the tensors in that by name in ``outputs``."""

    given: _Arguments
    returned: Any
    outputs: dict[str, torch.Tensor]

    @property
    def moved(self) -> dict[str, torch.Tensor]:
        """The outputs that require grad."""
        return {name: out for name, out in self.outputs.items() if out.requires_grad}

    def gradients(self, grad_outputs: TensorsByName, *, retain: bool = False, create: bool = False) -> GradientsByName:
        """Backpropagate these ``grad_outputs``: the gradient of each leaf. Outputs that are not named get none.

        ``retain`` and ``create`` are ``retain_graph`` and ``create_graph`` of torch. Raises whatever backward raises.
        """
        some = [(out, grad_outputs[name]) for name, out in self.moved.items() if name in grad_outputs]
        outputs, cotangents = [out for out, _ in some], [given for _, given in some]
        note_call_start()
        found = pull_back(outputs, cotangents, self.given.leaves.values(), retain, create)
        return dict(zip(self.given.leaves, found, strict=True))


@dataclass(frozen=True)
class Call:
    """An op with the tensors and parameters to call it with.

    ``callee`` is what is called: the op, or the op rebound to a subclass of its Function. ``stacked`` names the inputs
    that hold several independent numbers; before every run all generators get the ``seed``. Its gradients are compared
    with slopes within the ``allowance``. ``known_precision`` is that of another call of the same Function, and
    ``known_gradient`` the largest number that backward returned in it.
    """

    op: Op
    tensors: dict[str, torch.Tensor]
    parameters: dict[str, Any]
    callee: Callable[..., Any]
    stacked: tuple[str, ...] = ()
    seed: int = rng.SEED
    allowance: Allowance = USUAL
    known_precision: float | None = None
    known_gradient: float = 0.0

    @classmethod
    def of(cls, section: Section, reach: tuple[float, float] | None = None) -> Call:
        """A working call for a section, of several numbers at once where the Function treats them independently.

        ``reach`` is the interval of the swept input, by default its domain. Where nothing is stacked, elements that
        have one common value are moved off it, if that works.
        """
        plain = cls.plain(section)
        for call in _stacked_candidates(section, plain, reach):
            if _same_as_alone(call):
                return call
        return next((call for call in (plain.holding(_moved_off(section, plain)), plain) if _is_finite(call)), plain)

    @classmethod
    def plain(cls, section: Section) -> Call:
        """The call with every input at the value that the section holds it at."""
        tensors = {name: _tensor(section, name, values) for name, values in section.inputs}
        return cls(section.op, tensors, dict(section.parameters), section.op)

    def through(self, callee: Callable[..., Any]) -> Call:
        """The same call of another function."""
        return replace(self, callee=callee)

    def holding(self, tensors: TensorsByName) -> Call:
        """The same call with these tensors replaced."""
        return replace(self, tensors={**self.tensors, **tensors})

    def arguments(self, which: tuple[str, ...] | None = None, dtype: torch.dtype | None = None) -> _Arguments:
        """Fresh arguments, of ``dtype`` if given; those named by ``which`` (by default all) require grad.

        They are copies of leaves, not leaves: autograd forbids a Function to edit a leaf in place.
        """
        tensors, leaves = {}, {}
        for name, held in self.tensors.items():
            own = held.to(dtype or held.dtype, copy=True)
            if which is None or name in which:
                leaves[name] = own.requires_grad_()
                own = own * 1
            tensors[name] = own
        return _Arguments(tensors, dict(self.parameters), leaves)

    def run(
        self, given: _Arguments | None = None, *, which: tuple[str, ...] | None = None, dtype: torch.dtype | None = None
    ) -> ForwardRun:
        """Call once, with the random seed of every run. Raises whatever forward raises."""
        given = given or self.arguments(which, dtype)
        rng.seed_all_generators(self.seed)
        note_call_start()
        returned = call_user_code(self.callee, *given.arguments)
        tensors = tensors_of(returned)
        return ForwardRun(given, returned, dict(zip(self._names(len(tensors)), tensors, strict=True)))

    def value(self, **moved: torch.Tensor) -> dict[str, torch.Tensor]:
        """The outputs under ``no_grad``, with some tensors replaced. Raises whatever forward raises."""
        with torch.no_grad():
            return self.holding(moved).run(which=()).outputs

    @cached_property
    def precision(self) -> float:
        """Half a unit in the last place of what forward computes in, of the least precise of its outputs.

        Forward may compute in float32 or less whatever it is given, as many a kernel does.
        """
        if self.known_precision is not None:
            return self.known_precision
        return arithmetic_precision(lambda moved: self.value(**moved).values(), self.tensors)

    def gradients(self, grad_outputs: TensorsByName) -> GradientsByName:
        """Run forward and backward once. Raises whatever the Function raises."""
        ran = self.run()
        return ran.gradients({name: given.clone() for name, given in grad_outputs.items()})

    def grad_outputs(self, ran: ForwardRun, seed: int = 5) -> dict[str, torch.Tensor]:
        """An irregular ``grad_output`` for every output that requires grad."""
        return {name: irregular_tensor(out, seed + place) for place, (name, out) in enumerate(ran.moved.items())}

    def _names(self, count: int) -> tuple[str, ...]:
        declared = self.op.outputs
        return (*declared[:count], *(f"output {place}" for place in range(len(declared), count)))


def _tensor(section: Section, name: str, values: tuple[float, ...]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64).reshape(input_shape(section.op, name))


def reset_seeds() -> None:
    """Reset the random generators of torch, NumPy and Python to the fixed seed."""
    rng.seed_all_generators(rng.SEED)


# budget: how many numbers are stacked in one call; the other, a sample, is their offset in the interval, which keeps
# them off its middle, off halves and off whole numbers.
STACK_SIZE, _SHIFT = 8, 0.41
# sample: inputs that are not swept are varied by at most this fraction of their domain.
_OTHER_SPREAD = 0.06
# sample: elements declared with one value are moved by up to this fraction of the domain: most kinks are at 0 and 1.
_ELEMENT_SPREAD = 0.0137
_COMPARED_ROWS = (1, 6)  # sample: the stacked rows that are compared with calls of their own, none at an end
_ALIKE = 1e-8  # bound: the tolerance of that comparison, absolute and relative


def _stacked_candidates(section: Section, plain: Call, reach: tuple[float, float] | None) -> Iterator[Call]:
    """Candidates with stacked numbers: in all inputs, then in the swept one alone, if they are single numbers."""
    single = [name for name, tensor in plain.tensors.items() if tensor.numel() == 1 and tensor.dim()]
    swept = section.wrt if section.wrt in single else next(iter(single), "")
    own = None if section.wrt in plain.tensors and section.wrt != swept else reach
    for names in dict.fromkeys((tuple(plain.tensors), (swept,))):
        if not swept or not set(names) <= set(single):
            continue
        rows = {}
        for place, name in enumerate(names):
            low, high = _interval(section, name, name == swept, own)
            # Golden-ratio sequence, so that no two inputs vary together.
            share = (torch.arange(STACK_SIZE, dtype=torch.float64) + _SHIFT) / STACK_SIZE
            share = share if name == swept else (GOLDEN_RATIO * (1 + place) * (1 + STACK_SIZE * share)) % 1
            rows[name] = (low + (high - low) * share).reshape(-1, *plain.tensors[name].shape[1:])
        yield Call(section.op, {**plain.tensors, **rows}, plain.parameters, section.op, names)


def _interval(section: Section, name: str, swept: bool, reach: tuple[float, float] | None) -> tuple[float, float]:
    low, high = section.op.input(name).domain
    if swept:
        return reach or (low, high)
    held, aside = dict(section.inputs)[name][0], _OTHER_SPREAD * (high - low)
    return (max(low, held - aside), min(high, held + aside)) if low < held < high else (held, held + aside)


def _moved_off(section: Section, plain: Call) -> dict[str, torch.Tensor]:
    """Inputs declared with one value for all elements, each element moved a little."""
    moved = {}
    for name, tensor in plain.tensors.items():
        declared = section.op.input(name)
        if not isinstance(declared.value, tuple):
            low, high = declared.domain
            moved[name] = tensor + _ELEMENT_SPREAD * (high - low) * uneven(tensor)
    return moved


def call_succeeds(call: Call) -> bool:
    try:
        call.value()
    except Exception:  # noqa: BLE001 reported where the call is made
        return False
    return True


def _is_finite(call: Call) -> bool:
    try:
        outputs = call.value().values()
    except Exception:  # noqa: BLE001 what fails everywhere is reported where the call is made
        return False
    return all(bool(torch.isfinite(out).all()) for out in outputs)


def _same_as_alone(call: Call) -> bool:
    """Whether stacked numbers give the values and gradients that each gives in a call of its own.

    Where forward draws random numbers, values are not compared.
    """
    try:
        reset_seeds()
        before = GeneratorStates.now()
        together = _results(call)
        is_random = bool(before.changed())
        alone = [each for row in range(STACK_SIZE) if (each := _results(_row(call, row)))]
        if not together or len(alone) < STACK_SIZE or any(math.prod(t.shape[1:]) > 1 for t in together[0].values()):
            return False
        return is_random or all(_row_agrees(call, together, alone, row) for row in _COMPARED_ROWS)
    except Exception:  # noqa: BLE001 then they are not stacked
        return False


_Results = tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]


def _results(call: Call) -> _Results | None:
    """Outputs and gradients of one run; None if an output is not finite."""
    ran = call.run()
    if not ran.outputs or any(not bool(torch.isfinite(out).all()) for out in ran.outputs.values()):
        return None
    gradients = ran.gradients({name: torch.ones_like(out) for name, out in ran.moved.items()}) if ran.moved else {}
    return ran.outputs, {name: found for name, found in gradients.items() if found is not None}


def _row(call: Call, row: int) -> Call:
    return call.holding({name: call.tensors[name][row : row + 1] for name in call.stacked})


def _row_agrees(call: Call, together: _Results, alone: list[_Results], row: int) -> bool:
    (values, gradients), (own, pulled) = together, alone[row]
    if set(values) != set(own) or set(gradients) != set(pulled):
        return False
    pairs = [(values[name][row : row + 1], own[name]) for name in values if values[name].dim()]
    pairs += [(gradients[name][row : row + 1], pulled[name]) for name in gradients if name in call.stacked]
    shared = [name for name in gradients if name not in call.stacked]
    pairs += [(gradients[name], sum((each[1][name] for each in alone), torch.zeros(()))) for name in shared]
    return len(pairs) == len(values) + len(gradients) and all(
        a.shape == b.shape and torch.allclose(a, b, _ALIKE, _ALIKE, equal_nan=True) for a, b in pairs
    )
