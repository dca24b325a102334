"""A user's file before and after it is saved, and a page that follows it."""

from playwright.sync_api import Page, expect

MINE = '''import torch
from torch.autograd import Function


class Leaky(Function):
    """A ramp that leaks."""

    @staticmethod
    def forward(ctx, x, slope=0.1):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return torch.where(x > 0, x, slope * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, grad_output, ctx.slope * grad_output), None


class Twice(Function):
    """Twice what it is given."""

    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output
'''
THRICE = (
    MINE.replace("2 * x", "3 * x").replace("2 * grad_output", "3 * grad_output").replace("Twice what", "Thrice what")
)
BROKEN = MINE.replace("return 2 * x", "return 2 *")


def follows(page: Page) -> None:
    expect(page.locator("#following")).to_have_attribute("data-state", "well")
