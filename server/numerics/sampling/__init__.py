"""Sampling: at which points a section is evaluated (grid, refinement, fewer where each is a call of its own)."""
