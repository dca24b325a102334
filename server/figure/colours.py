"""Colour palettes of figures, light and dark, and sizes of marks. Same colours as static/css/base.css."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

DIAMOND_RADIUS, END_RADIUS, OUTLINE_WIDTH = 5.85, 3.5, 1.6
Palette = Mapping[str, str]
LIGHT_PALETTE: Palette = {
    "paper": "#fefefd",
    "ink": "#1d1d1f",
    "muted": "#5d6066",
    "rule": "#d9d9d6",
    "grid": "#efefec",
    "analytical": "#0072b2",
    "numerical": "#e69f00",
    "surrogate": "#009e73",
    "disagreement": "#d55e00",
}
DARK_PALETTE: Palette = {
    "paper": "#16171a",
    "ink": "#ececea",
    "muted": "#a3a6ad",
    "rule": "#3a3d44",
    "grid": "#24262b",
    "analytical": "#56b4e9",
    "numerical": "#f0ad25",
    "surrogate": "#2fc596",
    "disagreement": "#ff7a33",
}


def palette(theme: str) -> Palette:
    """The palette of a theme; that of "auto" is the light one, to which a media query adds the dark one."""
    return DARK_PALETTE if theme == "dark" else LIGHT_PALETTE


def dark_scheme_rules() -> Markup:
    """A style sheet that recolours what a ``Pen`` has drawn under ``prefers-color-scheme: dark``."""
    rule = Markup(".f-{0}{{fill:{1}}}.s-{0}{{stroke:{1}}}")
    rules = Markup("").join(rule.format(name, colour) for name, colour in DARK_PALETTE.items())
    return Markup("@media (prefers-color-scheme:dark){{{}}}").format(rules)
