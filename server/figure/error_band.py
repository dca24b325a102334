"""The error band of the numerical curve: one closed polygon for each unbroken run. As in js/figure/traces.js."""

from __future__ import annotations

from .series import Numbers


def band(xs: list[float], middle: Numbers, error: Numbers) -> tuple[Numbers, Numbers]:
    """x and y of the outlines of ``middle`` ± ``error``, a None after each."""
    x: Numbers = []
    y: Numbers = []
    run: list[tuple[float, float, float]] = []
    for at, value, bound in [*zip(xs, middle, error, strict=False), (0.0, None, None)]:
        if value is not None and bound is not None:
            run.append((at, value, bound))
        elif run:
            back = run[::-1]
            x += [*(at for at, _, _ in run), *(at for at, _, _ in back), None]
            y += [*(value + bound for _, value, bound in run), *(value - bound for _, value, bound in back), None]
            run = []
    return x, y
