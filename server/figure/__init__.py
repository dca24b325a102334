"""The figure of a section as SVG, inline in a page or as a sheet of its own, and the sparkline of the gallery.

Turning SVG into pixels is in ``png``, the numbers and sentences beside a figure are in ``documents``.
"""

from .inline_svg import common_axis_ranges, static_figure
from .link_preview import PREVIEW_SIZE as PREVIEW
from .link_preview import figure_png, preview_svg
from .sheet_svg import SHEET_SIZE, figure_svg

__all__ = ["PREVIEW", "SHEET_SIZE", "common_axis_ranges", "figure_png", "figure_svg", "preview_svg", "static_figure"]
