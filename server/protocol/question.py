"""What can be asked through the door: one section of one op, as plain data."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field


def named(tensor: str, shape: Iterable[int], places: Iterable[float]) -> list[str]:
    """``x[1,2]`` for every flat place, in row-major order; the name alone for a single number."""
    sizes = list(shape)
    if math.prod(sizes) == 1:
        return [tensor for _ in places]
    return [f"{tensor}[{','.join(map(str, _index(int(place), sizes)))}]" for place in places]


def _index(place: int, sizes: list[int]) -> list[int]:
    index = []
    for size in reversed(sizes):
        place, last = divmod(place, size)
        index.append(last)
    return index[::-1]


VIEWS = ("curves", "area", "map", "precision", "wide", "step", "jacobian", "surface", "contract", "node", "descent")
Value = float | int | bool | str


@dataclass(frozen=True)
class Element:
    """One element of a named tensor (``weight[0,1]``), or a parameter by its name (``index`` empty)."""

    name: str
    index: tuple[int, ...] = ()

    def __str__(self) -> str:
        return self.name + (f"[{','.join(map(str, self.index))}]" if self.index else "")


@dataclass(frozen=True)
class Question:
    """The section of ``op`` from ``start`` to ``stop`` of ``wrt`` in ``count`` points, looked at in ``of``.

    ``parameters`` and ``inputs`` hold every declared value, given or default (inputs flattened in
    row-major order). With ``order`` 2 what backward returns for ``grad_output`` is looked at in the place of forward.
    ``step``, ``atol`` and ``rtol`` are None where the numerics shall choose. ``view`` is one
    of ``VIEWS``; ``at`` is the x that ``step`` and ``node`` look at, None for the middle of the range, and ``compile``
    says whether ``contract`` tries torch.compile, which takes seconds.
    ``descent`` starts at it, and goes down with learning rate ``lr`` for so many ``steps`` to the ``goal``: one
    number for all of the output, or as many as it has; None where it is to be chosen.
    ``surface`` sweeps ``wrt2`` too, from ``start2`` to ``stop2``; None for another view, or where there is no second.
    ``recipe`` says how a visitor's own Function is called; empty for an op of the gallery, which has one way.
    """

    op: str
    wrt: Element
    of: Element
    start: float
    stop: float
    count: int = 401
    grad_output: float = 1.0
    dtype: str = "float64"
    device: str = "auto"
    step: float | None = None
    atol: float | None = None
    rtol: float | None = None
    parameters: dict[str, Value] = field(default_factory=dict)
    inputs: dict[str, tuple[float, ...]] = field(default_factory=dict)
    order: int = 1
    view: str = VIEWS[0]
    at: float | None = None
    compile: bool = False
    lr: float | None = None
    steps: int | None = None
    goal: tuple[float, ...] | None = None
    wrt2: Element | None = None
    start2: float | None = None
    stop2: float | None = None
    recipe: str = ""

    @property
    def place(self) -> float:
        """The x that is looked at more closely than the others."""
        return self.start + (self.stop - self.start) / 2 if self.at is None else self.at


COUNT = 401
