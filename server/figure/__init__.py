"""The figure of a section as SVG, inline in a page or as a sheet of its own, and the sparkline of the gallery.

Turning SVG into pixels is in ``png``, the numbers and sentences beside a figure are in ``documents``.
"""
