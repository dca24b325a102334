"""An op that does what no Function should, as the text of its file."""

MISBEHAVING = '''
import ctypes, os, sys, time
import torch
from .op import Input, Op, Parameter

BORN = os.getpid()
FORKS = []

class Misbehaving(torch.autograd.Function):
    """Does what it is told not to do, far from 0."""

    @staticmethod
    def forward(ctx, x, deed):
        if deed == "print":
            print("{}", flush=True)
        if deed == "segfault" and x.abs().max() > 2:
            ctypes.string_at(0)
        if deed == "exit" and x.abs().max() > 2:
            sys.exit(3)
        if deed == "hang" and x.abs().max() > 2:
            open("hanging", "w").close()
            time.sleep(60)
        if deed == "raise":
            raise ValueError("half of a surrogate pair: \\ud800")
        if deed == "shout":
            raise type("E" * 9_000_000, (Exception,), {})
        if deed == "fork" and os.getpid() == BORN and len(FORKS) < 3:
            FORKS.append(os.fork())
        return x * 2

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2, None


op = Op(
    function=Misbehaving,
    title="Misbehaving",
    group="Newcomers",
    forward="y = 2x",
    backward="2",
    inputs=(Input("x"),),
    parameters=(
        Parameter(
            "deed", "none", kind="choice", choices=tuple("none print raise segfault exit hang shout fork".split())
        ),
    ),
)
'''
