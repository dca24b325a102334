"""Sampling: at which points a section is evaluated (grid, refinement, fewer for slow Functions)."""
