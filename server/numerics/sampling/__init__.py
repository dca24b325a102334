"""Sampling: at which points a section is evaluated (grid, refinement, bisection, reduction for slow Functions).

How points are evaluated is the task of ``runtime``; special points are found in ``singularities``.
"""
