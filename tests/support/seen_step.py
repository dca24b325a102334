"""A folder with Functions in a file, and the capture of a step that calls some of them."""

import importlib.util
import sys
from contextlib import chdir
from pathlib import Path

import torch

import gradloupe

OPS = """import torch


class ClampWithGrad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, min, max):
        ctx.save_for_backward(input)
        ctx.bounds = min, max
        return input.clamp(min, max)

    @staticmethod
    def backward(ctx, g):
        (input,) = ctx.saved_tensors
        return g * (g * (input - input.clamp(*ctx.bounds)) >= 0), None, None


class WrongFarOut(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x.clamp(max=2.0)


class Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g * w, (g * x).sum(0)


class NeverCalled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g
"""


class Calling(torch.nn.Module):
    """A module that calls one Function, or two."""

    def __init__(self, *functions):
        super().__init__()
        self.functions = functions

    def forward(self, x):
        for each in self.functions:
            x = each(x)
        return x


def functions_of(folder: Path):
    """The module `my_ops.py` of a folder."""
    spec = importlib.util.spec_from_file_location("my_ops_seen", folder / "my_ops.py")
    module = sys.modules["my_ops_seen"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def seen_step(folder: Path):
    """What was seen of a step: 8 of 40 inputs of the clamp above 1 and 8 below −1, the rest between, 4 exactly on 1.

    Its grad_output is negative for every second one. No number comes near 2 in the others.
    """
    (folder / "my_ops.py").write_text(OPS, encoding="utf-8")
    ops = functions_of(folder)
    model = torch.nn.ModuleDict({"clip": Calling(lambda x: ops.ClampWithGrad.apply(x, -1.0, 1.0))})
    model["square"] = Calling(lambda x: ops.WrongFarOut.apply(x), lambda x: ops.Rows.apply(x, torch.ones(5) / 2))
    far, near = torch.linspace(1.5, 3.0, 8), torch.linspace(-0.9, 0.9, 20)
    x = torch.cat((far, -far, torch.ones(4), near)).reshape(8, 5).requires_grad_()
    signs = torch.tensor([1.0, -1.0]).repeat(20).reshape(8, 5)
    with chdir(folder), gradloupe.watch(model) as seen:
        clipped = model["clip"](x)
        ((clipped * signs).sum() + model["square"](clipped.detach().requires_grad_()).sum()).backward()
    return seen
