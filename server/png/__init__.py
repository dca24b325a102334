"""Pixels, and pages to print, of the SVG that ``figure`` writes."""
