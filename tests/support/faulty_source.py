"""The source of three Functions with a fault each: a wrong gradient, a crash, and one that cannot be called."""

from __future__ import annotations

FAULTY = '''
class Product(torch.autograd.Function):
    """A product, right by one input and wrong by the other."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x, factor)
        return x * factor

    @staticmethod
    def backward(ctx, grad_output):
        x, factor = ctx.saved_tensors
        return grad_output * factor, 2 * grad_output * x


class Crash(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad_output):
        if grad_output.sum() < 0:
            os.kill(os.getpid(), 11)
        return 2 * grad_output


class Riddle(torch.autograd.Function):
    @staticmethod
    def forward(ctx, riddle):
        return riddle.answer_that_no_tensor_has

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output
'''
