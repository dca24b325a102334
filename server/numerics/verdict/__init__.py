"""The judge of a section: a status for every point and every cell between points, and the verdict that sums them up.

What is judged was measured in `curve` and, beyond the visible range, in `whole_range`; `sentences` phrases it.
"""
