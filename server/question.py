"""What can be asked through the door: one section of one op, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field

VIEWS = ("curves", "area", "map", "precision", "wide", "step")

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
    row-major order). ``step``, ``atol`` and ``rtol`` are None where the numerics shall choose. ``view`` is one
    of ``VIEWS``; ``at`` is the x that ``step`` looks at, None for the middle of the range.
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
    view: str = VIEWS[0]
    at: float | None = None

    @property
    def place(self) -> float:
        """The x that is looked at more closely than the others."""
        return self.start + (self.stop - self.start) / 2 if self.at is None else self.at
