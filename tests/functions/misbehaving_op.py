"""An op that does what no Function should, as the text of its file."""

MISBEHAVING = '''
import ctypes, os, re, signal, sys, time
import torch
from .op import Input, Op, Parameter

FORKS, STARTED = [], []

class Misbehaving(torch.autograd.Function):
    """Does what it is told not to do, far from 0."""

    @staticmethod
    def forward(ctx, x, deed):
        if deed in ("hang", "loop", "match", "sleep") and x.abs().max() > 2:
            # Deaf to what ends a slow call within the process.
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
        if deed == "print":
            print("{}", flush=True)
        if deed == "segfault" and x.abs().max() > 2:
            ctypes.string_at(0)
        if deed == "abort" and x.abs().max() > 2:
            os.abort()
        if deed == "exit" and x.abs().max() > 2:
            sys.exit(3)
        if deed == "leave" and x.abs().max() > 2:
            os._exit(4)
        if deed == "hang" and x.abs().max() > 2:
            open("hanging", "w").close()
            time.sleep(60)
        if deed == "loop" and x.abs().max() > 2:
            while True: pass
        if deed == "sleep" and x.abs().max() > 2:
            ctypes.CDLL(None).sleep(60)
        if deed == "match" and x.abs().max() > 2:
            re.match("(a*)*b", "a" * 60)
        if deed == "eat" and x.abs().max() > 2:
            KEPT = [bytes([1]) * 2**23 for _ in range(2**10)]
        if deed == "raise":
            raise ValueError("half of a surrogate pair: \\ud800")
        if deed == "shout":
            raise type("E" * 9_000_000, (Exception,), {})
        if deed == "fork" and len(FORKS) < 3 and 0 not in FORKS:
            FORKS.append(os.fork())
        if deed == "copies":
            while True: os.fork()
        if deed == "start" and not STARTED:
            STARTED.append(os.fork())
            if STARTED == [0]:
                time.sleep(60)
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
            "deed",
            "none",
            kind="choice",
            choices=(
                *("none", "print", "raise", "shout", "segfault", "abort", "exit", "leave", "hang", "loop", "sleep"),
                *("match", "eat", "fork", "copies", "start"),
            ),
        ),
    ),
)
'''
OWN = MISBEHAVING.replace("from .op import", "from gradloupe.ops import")  # the same in a file of anybody's
