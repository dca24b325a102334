"""Where an op is called: at several numbers at once where it bears them, off the places where slopes break."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch

from ....ops import Input
from ...runtime.rng import Randomness
from ...runtime.section import Section
from .call import Call, reseed

# So many numbers at once, and where in the interval: beside the middle, beside halves and whole numbers.
COPIES, SHIFT = 8, 0.41
# Inputs that are not swept stay within this share of their domain of where they are held.
ASIDE = 0.06
# A single number is held this share of its domain beside where it was: 0 and 1 are the places of most kinks.
BESIDE = 0.0137
WITNESSES = (1, 6)
ALIKE = 1e-8
GOLDEN = (5**0.5 - 1) / 2


def called(section: Section, reach: tuple[float, float] | None) -> Call:
    """The call of a section. Raises nothing: where the Function raises everywhere, it is the plain one."""
    plain = Call.plain(section)
    for call in _several(section, plain, reach):
        if _same_as_alone(call):
            return call
    for call in (plain.holding(_beside(section, plain)), plain):
        if _finite(call):
            return call
    return plain


def _declared(section: Section, name: str) -> Input:
    return next(each for each in section.op.inputs if each.name == name)


def _several(section: Section, plain: Call, reach: tuple[float, float] | None) -> Iterator[Call]:
    """Several numbers for all inputs, then for the swept one alone, if they are single numbers."""
    single = [name for name, tensor in plain.tensors.items() if tensor.numel() == 1 and tensor.dim()]
    swept = section.wrt if section.wrt in single else next(iter(single), "")
    own = None if section.wrt in plain.tensors and section.wrt != swept else reach
    for names in dict.fromkeys((tuple(plain.tensors), (swept,))):
        if not swept or not set(names) <= set(single):
            continue
        rows = {}
        for place, name in enumerate(names):
            low, high = _interval(section, name, name == swept, own)
            # A golden step apart, so that no two inputs move together.
            share = (torch.arange(COPIES, dtype=torch.float64) + SHIFT) / COPIES
            share = share if name == swept else (GOLDEN * (1 + place) * (1 + COPIES * share)) % 1
            rows[name] = (low + (high - low) * share).reshape(-1, *plain.tensors[name].shape[1:])
        yield Call(section.op, {**plain.tensors, **rows}, plain.parameters, section.op, names)


def _interval(section: Section, name: str, swept: bool, reach: tuple[float, float] | None) -> tuple[float, float]:
    low, high = _declared(section, name).domain
    if swept:
        return reach or (low, high)
    held, aside = dict(section.inputs)[name][0], ASIDE * (high - low)
    return (max(low, held - aside), min(high, held + aside)) if low < held < high else (held, held + aside)


def _beside(section: Section, plain: Call) -> dict[str, torch.Tensor]:
    """Inputs declared with one number for all elements, each element beside it."""
    moved = {}
    for name, tensor in plain.tensors.items():
        declared = _declared(section, name)
        if not isinstance(declared.value, tuple):
            low, high = declared.domain
            order = torch.arange(1.0, 1 + tensor.numel(), dtype=torch.float64).reshape(tensor.shape)
            moved[name] = tensor + BESIDE * (high - low) * torch.cos(order)
    return moved


def runs(call: Call) -> bool:
    """Whether the call comes to an end without an exception."""
    try:
        call.value()
    except Exception:  # noqa: BLE001 which is told where the call is made
        return False
    return True


def _finite(call: Call) -> bool:
    try:
        outputs = call.value().values()
    except Exception:  # noqa: BLE001 what fails everywhere is told where the call is made
        return False
    return all(bool(torch.isfinite(out).all()) for out in outputs)


def _same_as_alone(call: Call) -> bool:
    """Whether several numbers at once give what each gives alone, values and gradients, or what was drawn instead."""
    try:
        reseed()
        before = Randomness.now()
        together = _said(call)
        drawn = bool(before.changed())
        alone = [each for row in range(COPIES) if (each := _said(_row(call, row)))]
        if not together or len(alone) < COPIES or any(math.prod(t.shape[1:]) > 1 for t in together[0].values()):
            return False
        return drawn or all(_alike(call, together, alone, row) for row in WITNESSES)
    except Exception:  # noqa: BLE001 then they are not given together
        return False


_Said = tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]


def _said(call: Call) -> _Said | None:
    """Values and gradients; None where there is a gradient of None."""
    ran = call.run()
    if not ran.outputs or any(not bool(torch.isfinite(out).all()) for out in ran.outputs.values()):
        return None
    gradients = ran.gradients({name: torch.ones_like(out) for name, out in ran.moved.items()}) if ran.moved else {}
    return ran.outputs, {name: found for name, found in gradients.items() if found is not None}


def _row(call: Call, row: int) -> Call:
    return call.holding({name: call.tensors[name][row : row + 1] for name in call.stacked})


def _alike(call: Call, together: _Said, alone: list[_Said], row: int) -> bool:
    (values, gradients), (own, pulled) = together, alone[row]
    if set(values) != set(own) or set(gradients) != set(pulled):
        return False
    pairs = [(values[name][row : row + 1], own[name]) for name in values if values[name].dim()]
    pairs += [(gradients[name][row : row + 1], pulled[name]) for name in gradients if name in call.stacked]
    shared = [name for name in gradients if name not in call.stacked]
    pairs += [(gradients[name], sum((each[1][name] for each in alone), torch.zeros(()))) for name in shared]
    return len(pairs) == len(values) + len(gradients) and all(
        a.shape == b.shape and torch.allclose(a, b, ALIKE, ALIKE, equal_nan=True) for a, b in pairs
    )
