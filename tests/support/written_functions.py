"""Functions that are written as text, whose source can be read as that of a file can."""

import linecache
import re
from itertools import count
from textwrap import dedent, indent
from typing import Any

import numpy as np
import torch

_numbers = count()
# A file.
CUBE = """
import torch

class MyCube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x ** 2
"""
# A cell of a notebook.
BENT = '''
import torch
import gradloupe

class Bent(torch.autograd.Function):
    """A parabola that has lost a factor."""

    @staticmethod
    def forward(ctx, x, steepness=1.0):
        ctx.save_for_backward(x)
        ctx.steepness = steepness
        return steepness * x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return ctx.steepness * x * grad_output, None
'''


def class_source(methods: str, name: str = "Own", doc: str = "") -> str:
    """The source of a Function; its static methods, and what else stands in its class, begin at the left margin.

    A backward that is not there passes the gradient on to the first argument, and gives none for the others.
    """
    methods = dedent(methods).strip()
    if "def backward" not in methods:
        others = ", None" * methods.partition(")")[0].count(", ")
        methods += f"\ndef backward(ctx, g):\n    return g{others[6:]}"
    body = re.sub(r"(?<!@classmethod\n)^(?=def )", "@staticmethod\n", methods, flags=re.MULTILINE)
    docstring = f'"""{doc}"""\n\n' if doc else ""
    return f"class {name}(torch.autograd.Function):\n{indent(docstring + body, '    ')}\n"


def formula(given: str, value: str, gradients: str, saved: str = "", kept: str = "") -> str:
    """The methods of a Function of tensors: what forward returns, and what backward does for a grad_output ``g``.

    It saves what it is given, unless that is said otherwise, its output as ``y``; and keeps a number on ``ctx``.
    """
    names = saved or given
    unpacked = names if "," in names else f"({names},)"
    lines = (
        [f"y = {value}"] * (names == "y") + [f"ctx.save_for_backward({names})"] + [f"ctx.{kept} = {kept}"] * bool(kept)
    )
    lines += [f"return {'y' if names == 'y' else value}"]
    forward = "\n    ".join((f"def forward(ctx, {given}):", *lines))
    return f"{forward}\ndef backward(ctx, g):\n    {unpacked} = ctx.saved_tensors\n    return {gradients}\n"


def function_of(methods: str, name: str = "Own", doc: str = "") -> Any:
    """The Function of such a source."""
    text, file = class_source(methods, name, doc), f"written_{next(_numbers)}.py"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    space: dict[str, Any] = {"torch": torch, "np": np, "__name__": file}
    exec(compile(text, file, "exec"), space)  # noqa: S102 what a test has written
    return space[name]
