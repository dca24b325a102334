"""What is looked at on each push; the rest is looked at nightly."""

from collections.abc import Collection, Iterable

import pytest

from gradloupe.ops import OPS, Op


def _kind(op: Op) -> tuple[object, ...]:
    """What distinguishes ops: their claim, tensors or numbers, one or more of them, parameters, outputs."""
    ranks = {min(len(tensor.shape), 2) for tensor in op.inputs}
    return op.claim, len(op.inputs) > 1, max(ranks), bool(op.parameters), len(op.outputs) > 1, op.follows_sign


KINDS = frozenset({_kind(op): name for name, op in reversed(OPS.items())}.values())  # the first op of each kind


def sampled(names: Iterable[object], sample: Collection[object] = KINDS) -> list[object]:
    """Parameters of a test; those that are not in ``sample`` are nightly."""
    return [name if name in sample else pytest.param(name, marks=pytest.mark.nightly) for name in names]


def in_turn(names: Iterable[object], *ways: tuple[object, ...]) -> list[object]:
    """Parameters of a test: each name in one of these ways, in turn; in all of them nightly."""
    return [
        pytest.param(name, *way, marks=() if turn == at % len(ways) else pytest.mark.nightly)
        for at, name in enumerate(names)
        for turn, way in enumerate(ways)
    ]


def each_fourth(names: Collection[str]) -> list[object]:
    """Parameters of a test, three of four nightly."""
    return sampled(names, [*names][::4])
