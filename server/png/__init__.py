"""Pixels, and pages to print, of the SVG that ``figure`` writes."""

from .rasterizer import LONGEST_QUEUE, Rasterizer

__all__ = ["LONGEST_QUEUE", "Rasterizer"]
