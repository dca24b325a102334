"""The figure of a section as SVG, inline in a page or as a sheet of its own, and the sparkline of the gallery.

Turning SVG into pixels is in ``png``, the numbers and sentences beside a figure are in ``documents``.
"""

from .axes import common_axis_ranges, fitting_ticks, ticks
from .inline_svg import static_figure
from .palette import DARK_PALETTE, FONT_FAMILIES, LIGHT_PALETTE
from .scene import build_scene, scene_document
from .sheet_svg import figure_svg, preview_svg, print_svg
from .svg_paths import sparkline

__all__ = [
    "DARK_PALETTE",
    "FONT_FAMILIES",
    "LIGHT_PALETTE",
    "build_scene",
    "common_axis_ranges",
    "figure_svg",
    "fitting_ticks",
    "preview_svg",
    "print_svg",
    "scene_document",
    "sparkline",
    "static_figure",
    "ticks",
]
