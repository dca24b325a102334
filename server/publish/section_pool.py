"""The sections of a figure in little room: parts that are equal are kept once, and columns as their second differences.

``static/js/state/stored.js`` reads it.
"""

from __future__ import annotations

import math

import orjson

from ..html.glossary import unlinked
from ..schema.page import PageSectionRecord

_SEEN = 5  # sample: decimal digits of the extent of a column, a hundredth of a pixel
_READ = 4  # sample: significant digits of the smallest numbers, as js/number.js writes them
_WHOLE = 2**50  # bound: whole numbers whose sums a double holds
_SAME = 1e-7  # unit: relative, where columns have eight digits
_AS_TEXT = ("status", "error")
_GRADIENTS = ("analytical", "numerical", "left", "right", "surrogate_numerical")
_REMEMBERED = 2 * len(_GRADIENTS)  # sample: gradients of the two sections before
_WORDS = ("verdict",)  # what the frame says of each section

_Column = list[float | None]


class SectionPool:
    """JSON texts, each stored once, and for every section the indices of its parts."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._parts: dict[str, int] = {}
        self._sections: list[dict[int, int]] = []
        self._gradients: list[tuple[str, float, _Column]] = []  # name, grad_output and values of the last ones
        self.size = 0  # bytes, about

    def add(self, document: PageSectionRecord) -> None:
        """Add a section; each of its columns is a part of its own, and so are its words."""
        apart: dict[str, object] = {name: part for name, part in document.items() if name not in ("columns", "words")}
        texts = {name: orjson.dumps(part).decode() for name, part in apart.items()}
        texts |= {f"words.{name}": orjson.dumps(unlinked(document["words"][name])).decode() for name in _WORDS}
        for name, given in document["columns"].items():
            column: _Column | None = orjson.loads(orjson.dumps(given))
            texts[f"columns.{name}"] = self._column(name, column, document["grad_output"]) if column else "null"
        self._sections.append(
            {self._parts.setdefault(part, len(self._parts)): self._place(texts[part]) for part in texts}
        )

    def json(self) -> str:
        """The names of the ``parts``, the ``pool``, and the indices of each section, -1 for a part that it lacks."""
        every = range(len(self._parts))
        sections = [[found.get(part, -1) for part in every] for found in self._sections]
        pool, names = ",".join(self._places), orjson.dumps(list(self._parts)).decode()
        return f'"parts":{names},"pool":[{pool}],"sections":{orjson.dumps(sections).decode()}'

    def _place(self, text: str) -> int:
        if text not in self._places:
            self._places[text] = len(self._places)
            self.size += len(text) + 1
        return self._places[text]

    def _column(self, name: str, column: _Column, grad_output: float) -> str:
        """A column as JSON; a gradient as a multiple of the one for another ``grad_output``, where it is that."""
        if name not in _GRADIENTS or not grad_output:
            return _column_text(name, column)
        for other, before, values in self._gradients:
            if other == name and _is_multiple(column, values, grad_output / before):
                return f'{{"of":{self._place(_column_text(name, values))},"times":{grad_output / before!r}}}'
        self._gradients = [(name, grad_output, column), *self._gradients][:_REMEMBERED]
        return _column_text(name, column)


def _is_multiple(column: _Column, values: _Column, factor: float) -> bool:
    """Whether one column is ``factor`` times the other, as far as both can be read."""
    if len(column) != len(values):
        return False
    for one, other in zip(column, values, strict=True):
        if one is None or other is None:
            if one is not other:
                return False
        elif abs(one - factor * other) > _SAME * abs(one):
            return False
    return True


def _column_text(name: str, column: list[float | None]) -> str:
    """A column as JSON: a list, or its ``second`` differences in units of ``10 ** -decimals``, with its ``gaps``."""
    values = [value for value in column if value is not None]
    if name in _AS_TEXT or not values:
        return orjson.dumps([value and _bound(value) for value in column] if name == "error" else column).decode()
    seen, decimals = _seen(values), _decimals(values)
    plain = orjson.dumps([value and round(value, max(seen, _digits(value))) for value in column]).decode()
    if abs(decimals) > 300 or max(map(abs, values)) * 10.0**decimals > _WHOLE:
        return plain
    last, whole, gaps = 0, list[int](), list[int]()
    for row, value in enumerate(column):
        last = last if value is None else round(value * 10.0**decimals)
        whole.append(last)
        if value is None:
            gaps.append(row)
    steps = [after - before for before, after in zip([0, *whole], whole, strict=False)]
    second = [after - before for before, after in zip([0, *steps], steps, strict=False)]
    text = orjson.dumps({"decimals": decimals, "gaps": gaps, "second": second}).decode()
    return min(plain, text, key=len)


def _decimals(values: list[float]) -> int:
    """How many decimals the curve needs, and its smallest numbers where those beside them are no larger."""
    sizes = [*map(abs, values)]
    around = [max(three) for three in zip([0.0, *sizes], sizes, [*sizes[1:], 0.0], strict=False)]
    least = min((size for size in around if size), default=1.0)
    return max(_seen(values), _digits(least))


def _seen(values: list[float]) -> int:
    """The decimals with which a curve is drawn."""
    largest = max(map(abs, values)) or 1.0
    extent = (max(values) - min(values)) or largest
    extent = extent if math.isfinite(extent) else largest
    return _SEEN - math.floor(math.log10(extent))


def _digits(value: float) -> int:
    """The decimals with which a number is read."""
    return _READ - 1 - math.floor(math.log10(abs(value)))


def _bound(error: float) -> float:
    """A bound with one significant digit, no smaller than this one."""
    unit = 10.0 ** math.floor(math.log10(error))
    return float(f"{math.ceil(error / unit * (1 - 1e-12)) * unit:.1g}")
