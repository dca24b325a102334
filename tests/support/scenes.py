"""Sections to be drawn: from the server's documents, and made up."""

from array import array
from functools import cache
from math import nan
from typing import Any

from gradloupe.server.protocol.frames import Frame
from gradloupe.server.protocol.question import Element, Question
from gradloupe.server.url.address import Address
from support import http

STATUSES = ["agrees", "subgradient", "jump", "edge", "undecided", "differs", "gap"]


@cache
def document(server: str, address: str) -> dict[str, Any]:
    """The JSON that a server answers."""
    found: dict[str, Any] = http.get(server + address).json()
    return found


def frame(document: dict[str, Any]) -> Frame:
    """The answer that was written as this document; what was no finite number is none."""
    columns = {}
    for name, values in document["columns"].items():
        if values is not None:
            kind = "B" if name.startswith("status") else "d"
            columns[name] = memoryview(array(kind, [nan if y is None else y for y in values]))
    return Frame({name: value for name, value in document.items() if name not in ("address", "columns")}, columns)


def made_up(**changed: Any) -> dict[str, Any]:
    """The document of a parabola, with what is changed of it; columns by their names."""
    xs = [-2 + row / 25 for row in range(101)]
    columns: dict[str, Any] = {
        "x": xs,
        "forward": [x * x for x in xs],
        **{name: [2 * x for x in xs] for name in ("analytical", "numerical", "left", "right")},
        **dict.fromkeys(("surrogate", "surrogate_numerical", "implied")),
        "error": [1e-9 for _ in xs],
        "status": [0 for _ in xs],
    }
    said: dict[str, Any] = {
        **{"view": "curves", "op": "parabola", "title": "Parabola", "claim": "exact", "wrt": "x", "of": "y"},
        **{"start": -2.0, "stop": 2.0, "count": 101, "grad_output": 1.0, "order": 1},
        **{"parameters": {}, "inputs": {"x": [1.0]}},
        **{"dtype": "float64", "device": {"kind": "cpu", "name": "a processor"}, "notes": [], "failure": None},
        **{"statuses": STATUSES, "gaps": {}, "marks": [], "seen": None},
        "numerical": {"dtype": "float64", "device": "cpu", "forwards_per_point": 8.0, "step": 0.1},
        **{"word": "matches", "sentence": "They agree.", "intervals": []},
    }
    for name, value in changed.items():
        (columns if name in columns else said)[name] = value
    verdict = {name: said.pop(name) for name in ("word", "sentence", "intervals")}
    return {**said, "verdict": verdict, "columns": columns}


def hyperbola() -> dict[str, Any]:
    """1 / (x - 0.1), which has a pole, beside √|x + 1|, which has a cusp."""
    xs = made_up()["columns"]["x"]
    pole, cusp = nearest(xs, 0.12), nearest(xs, -1.0)
    forward = [None if row == pole else 1 / (x - xs[pole]) + abs(x + 1) ** 0.5 for row, x in enumerate(xs)]
    slopes = [None if row in (pole, cusp) else -1 / (x - xs[pole]) ** 2 for row, x in enumerate(xs)]
    marks = [
        {"kind": "cusp", "x": xs[cusp], "forward": forward[cusp], "analytical": None, "left": None, "right": None},
        {"kind": "pole", "x": xs[pole], "forward": None, "analytical": None, "below": None, "above": None},
    ]
    return made_up(forward=forward, analytical=slopes, numerical=slopes, marks=marks)


def nearest(xs: list[float], value: float) -> int:
    """The row closest to a value, by looking at all of them."""
    return min(range(len(xs)), key=lambda row: abs(xs[row] - value))


def blank() -> dict[str, Any]:
    """An answer that holds no more than why there is none."""
    failure = {"phase": "forward", "kind": "ValueError", "line": 3, "sentence": "forward raised ValueError: no"}
    empty = {name: [] if values is not None else None for name, values in made_up()["columns"].items()}
    return made_up(**empty, word="failed", sentence="It failed.", statuses=[], failure=failure)


def huge() -> dict[str, Any]:
    """Values as large as numbers go, and some beyond."""
    xs = made_up()["columns"]["x"]
    forward = [x * 8e307 if abs(x) < 1.9 else None for x in xs]
    slopes = [8e307 for _ in xs]
    return made_up(forward=forward, error=[1e308 for _ in xs], analytical=slopes, grad_output=1e300)


def tiny() -> dict[str, Any]:
    """Values that are hardly more than nothing."""
    xs = made_up()["columns"]["x"]
    return made_up(forward=[x * 1e-300 for x in xs], analytical=[1e-300 for _ in xs], grad_output=1e-300)


def jumpy() -> dict[str, Any]:
    """A jump with a value of its own, a wide band, undecided points, an implied curve, and a stripe for one point."""
    xs = made_up()["columns"]["x"]
    row = nearest(xs, 0.52)
    forward = [None if i == row else float(x > xs[row]) for i, x in enumerate(xs)]
    mark = {"kind": "jump", "x": xs[row], "forward": 0.5, "below": 0.0, "above": 1.0, "analytical": 1.0}
    return made_up(
        forward=forward,
        error=[None if 30 < i < 40 else 0.3 + abs(x) for i, x in enumerate(xs)],
        status=[4 if x > 1 else 5 for x in xs],
        implied=[x * 3 for x in xs],
        surrogate=[x / 2 for x in xs],
        surrogate_numerical=[0.5 for _ in xs],
        marks=[mark],
        word="differs",
        intervals=[[-2.0, -1.0], [1.0, 1.0]],
    )


MADE_UP = {"parabola": made_up, "hyperbola": hyperbola, "blank": blank, "huge": huge, "tiny": tiny, "jumpy": jumpy}


def address(layout: str = "stacked", **shown: Any) -> Address:
    """An address that asks for a picture."""
    return Address(Question("parabola", Element("x"), Element("y"), -2.0, 2.0), layout=layout, **shown)
