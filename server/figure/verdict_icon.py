"""The icon of each verdict, a small picture of two curves. As in templates/parts/icons.html."""

from __future__ import annotations

from markupsafe import Markup

from .svg_elements import Pen

_UPPER, _LOWER = "M2.5 5.5H13.5", "M2.5 10.5H13.5"
_CROSSED = "M4.5 15 11.5 1"
_BARS = {
    "matches": (("analytical", _UPPER), ("numerical", _LOWER)),
    "matches here": (
        *(("analytical", "M2.5 5.5H8"), ("numerical", "M2.5 10.5H8")),
        *(("analytical", "M11 5.5h.01M14.5 5.5h.01"), ("numerical", "M11 10.5h.01M14.5 10.5h.01")),
    ),
    "matches its surrogate": (
        ("analytical", _UPPER),
        ("surrogate", "M2.5 10.5h.01M6.1 10.5h.01M9.7 10.5h.01M13.3 10.5h.01"),
    ),
    "differs": (("analytical", _UPPER), ("numerical", _LOWER), ("disagreement", _CROSSED)),
    "undecided": (("muted", "M5 5.6C5 1.8 11 1.8 11 5.2 11 7.6 8 7.4 8 10M8 13.2V13.3"),),
    "no gradient": (("rule", _UPPER), ("numerical", _LOWER)),
    "unsupported": (("rule", _UPPER), ("numerical", _LOWER)),
    "failed": (("disagreement", "M3 3 13 13M13 3 3 13"),),
}
_THIN = {"muted": 1.8, "disagreement": 2.0}


def verdict_icon(pen: Pen, word: str, x: float, y: float, size: float) -> Markup:
    """The icon of a verdict in a square of ``size``."""
    scale = f"translate({x:.2f} {y:.2f}) scale({size / 16:.4f})"
    bars = (
        pen.draw("path", {"d": d, "stroke-width": _THIN.get(name, 2.4)}, fill="none", stroke=name)
        for name, d in _BARS.get(word, ())
    )
    return pen.draw("g", {"transform": scale, "stroke-linecap": "round"}, *bars)
