"""A question to the engine: one view of one section of one op, as plain data; and the names of tensor elements."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field


def element_names(tensor: str, shape: Iterable[int], places: Iterable[float]) -> list[str]:
    """Element names (``x[1,2]``) of flat indices, in row-major order; the name alone for a single number."""
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


DEFAULT_COUNT = 401
VIEW_NAMES = (
    "curves",
    "area",
    "map",
    "precision",
    "wide",
    "step",
    "jacobian",
    "surface",
    "contract",
    "node",
    "descent",
)
ParameterValue = float | int | bool | str


@dataclass(frozen=True)
class Element:
    """One element of a named tensor (``weight[0,1]``), or a parameter by its name (``index`` empty)."""

    name: str
    index: tuple[int, ...] = ()

    def __str__(self) -> str:
        return self.name + (f"[{','.join(map(str, self.index))}]" if self.index else "")


@dataclass(frozen=True)
class Question:
    """One ``view`` of the section of ``op`` from ``start`` to ``stop`` of ``wrt`` in ``count`` points, output ``of``.

    ``parameters`` and ``inputs`` hold every declared value, given or default (inputs flattened in row-major order).
    With ``order`` 2 the result of backward for ``grad_output`` takes the place of forward. ``step``, ``atol`` and
    ``rtol`` are None where the numerics choose. ``view`` is one of ``VIEW_NAMES``; ``at`` is the x that ``step`` and
    ``node`` look at, None for the middle of the range, and ``compile`` says whether ``contract`` tries torch.compile,
    which takes seconds. ``descent`` starts at ``at``, with learning rate ``lr``, ``steps`` and ``goal``: one number for
    all of the output, or one for each element; None where it is to be chosen. ``surface`` sweeps ``wrt2`` too, from
    ``start2`` to ``stop2``; None for another view, or where there is no second. ``recipe`` says how a user's own
    Function is called; empty for an op of the gallery, which declares it.
    """

    op: str
    wrt: Element
    of: Element
    start: float
    stop: float
    count: int = DEFAULT_COUNT
    grad_output: float = 1.0
    dtype: str = "float64"
    device: str = "auto"
    step: float | None = None
    atol: float | None = None
    rtol: float | None = None
    parameters: dict[str, ParameterValue] = field(default_factory=dict)
    inputs: dict[str, tuple[float, ...]] = field(default_factory=dict)
    order: int = 1
    view: str = VIEW_NAMES[0]
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
        """The x that ``step``, ``node`` and ``descent`` look at: ``at``, else the middle of the range."""
        return self.start + (self.stop - self.start) / 2 if self.at is None else self.at
