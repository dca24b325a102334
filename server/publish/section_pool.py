"""The sections of a figure in little room: what is equal is kept once, and numbers in a row as their differences.

``static/js/state/stored.js`` reads it.
"""

import math
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

import orjson

from ..html.glossary import unlinked
from ..schema.page import PageSectionRecord

_SEEN = 5  # sample: decimal digits of the extent of a row of numbers, a hundredth of a pixel
_READ = 4  # sample: significant digits of the smallest numbers, as js/number.js writes them
_WHOLE = 2**48  # bound: whole numbers whose sums a double holds
_SAME = 1e-7  # unit: relative, where columns have eight digits
_DIGITS = 8  # sample: significant digits of any other number in a list
_ORDERS = range(5)  # sample: how often differences are taken
_SHORT = 64  # unit: characters, what takes no more room than its place
_ROW = 8  # sample: numbers that are kept as a row
_APART = 14  # unit: characters of a number that is told apart, where one more decimal for all is one for each
_GRADIENTS = ("analytical", "numerical", "error", "left", "right", "surrogate_numerical")
_KEPT = 256  # budget: rows whose text is kept, for other sections have them too
_REMEMBERED = 2 * len(_GRADIENTS)  # sample: gradients of the two sections before

_Column = list[float | None]


class SectionPool:
    """JSON texts, each stored once, and the sections that are made of them, with the ``words`` of these names."""

    def __init__(self, words: Collection[str] = ("verdict",)) -> None:
        self._words = words
        self._places: dict[str, int] = {}
        self._sections: list[str] = []
        self._gradients: list[tuple[str, float, _Column]] = []  # name, grad_output and values of the last ones
        self.size = 0  # bytes, about

    def add(self, document: PageSectionRecord) -> None:
        """Add a section."""
        section: dict[str, Any] = {**document, "columns": None, "words": None}
        texts = {name: self._kept(part) for name, part in section.items()}
        texts["words"] = self._kept({name: unlinked(document["words"][name]) for name in self._words})
        columns = orjson.loads(orjson.dumps(document["columns"]))
        kept = {name: self._column(name, column, document["grad_output"]) for name, column in columns.items()}
        self._sections.append(_object({**texts, "columns": _object(kept)}))

    def json(self) -> str:
        """The ``pool`` of what is kept, and the ``sections``, where ``{"$": 3}`` stands for the fourth of it."""
        return f'"pool":[{",".join(self._places)}],"sections":[{",".join(self._sections)}]'

    def _kept(self, value: Any) -> str:
        """A value as JSON, in which all that is long has its place in the pool."""
        if isinstance(value, dict):
            return self._placed(_object({name: self._kept(part) for name, part in value.items()}))
        if not isinstance(value, list | tuple):
            return self._placed(orjson.dumps(value).decode())
        if len(value) >= _ROW and all(isinstance(each, float | int | None) for each in value):
            return self._placed(_row(tuple(value)))
        if len(value) > 1 and all(isinstance(each, dict) and each.keys() == value[0].keys() for each in value):
            columns = {name: [each[name] for each in value] for name in value[0]}
            return self._placed(f'{{"$rows":{self._kept(columns)}}}')
        return self._placed(f"[{','.join(self._kept(_rounded(each)) for each in value)}]")

    def _placed(self, text: str) -> str:
        if len(text) <= _SHORT:
            return text
        if text not in self._places:
            self._places[text] = len(self._places)
            self.size += len(text) + 1
        return f'{{"$":{self._places[text]}}}'

    def _column(self, name: str, column: _Column | None, grad_output: float) -> str:
        """A column as JSON; a gradient as a multiple of the one for another ``grad_output``, where it is that."""
        if name not in _GRADIENTS or not column or not grad_output:
            return self._kept(_read(name, column))
        for other, before, values in self._gradients:
            factor = abs(grad_output / before) if name == "error" else grad_output / before
            if other == name and _is_multiple(column, values, factor):
                kept = self._kept(_read(name, values))
                return kept if factor == 1 else f'{{"$of":{kept},"times":{factor!r}}}'
        self._gradients = [(name, grad_output, column), *self._gradients][:_REMEMBERED]
        return self._kept(_read(name, column))


def _read(name: str, column: _Column | None) -> _Column | None:
    """A column as it is read: bounds on errors have one digit."""
    return [value and _bound(value) for value in column] if column and name == "error" else column


def _object(texts: Mapping[str, str]) -> str:
    return "{" + ",".join(f"{orjson.dumps(name).decode()}:{text}" for name, text in texts.items()) + "}"


def _rounded(value: Any) -> Any:
    return value and float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value


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


@lru_cache(_KEPT)
def _row(numbers: tuple[float | None, ...]) -> str:
    """Numbers as JSON: a list, or differences in units of ``10 ** -decimals``.

    ``times`` says how often each was taken from the next; the shortest is kept. ``finer`` has the numbers by row that
    are smaller than these units tell.
    """
    values = [value for value in numbers if value is not None]
    if not any(values):
        return orjson.dumps(numbers).decode()
    seen = _seen(values)
    plain = [value and round(value, max(seen, _digits(value))) for value in numbers]
    texts = [orjson.dumps(plain).decode()]
    decimals = _decimals(seen, [_digits(value) if value else seen for value in values])
    if abs(decimals) > 300 or max(map(abs, values)) * 10.0**decimals > _WHOLE:
        return texts[0]
    finer = {str(row): plain[row] for row, value in enumerate(numbers) if value and _digits(value) > decimals}
    steps = [None if value is None else round(value * 10.0**decimals) for value in numbers]
    for times in _ORDERS:
        texts.append(orjson.dumps({"$steps": steps, "times": times, "decimals": decimals, "finer": finer}).decode())
        steps = _differences(steps)
    return min(texts, key=len)


def _differences(steps: list[int | None]) -> list[int | None]:
    """Each number less the one before, of those that there are."""
    before, found = 0, list[int | None]()
    for each in steps:
        found.append(None if each is None else each - before)
        before = before if each is None else each
    return found


def _decimals(seen: int, wanted: list[int]) -> int:
    """The decimals of a row: those ``seen``, or more, where that takes less room than telling numbers apart."""
    ordered = sorted(wanted)
    costs = {seen: _APART * sum(each > seen for each in ordered)}
    for place, each in enumerate(ordered, 1):
        if each > seen:
            costs[each] = (each - seen) * len(ordered) + _APART * (len(ordered) - place)
    return min(costs, key=costs.__getitem__)


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
