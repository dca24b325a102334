"""Failures that no other arguments would mend, so that the search ends with them."""

from __future__ import annotations

import re
from pathlib import PurePath
from types import TracebackType

from ..source.torch_signatures import misspelled
from .blame import Blame, strange

# Of a tensor, a module and a ctx it is known what they have. What is given as a tensor may have to be another object,
# but then nothing of a tensor is spelled nearly so.
_UNKNOWN = re.compile(r"^'(?:Tensor|Parameter)' object has no attribute '(\w+)'")
MISSPELLED = re.compile(
    r"^(?:'\w+Backward' object|module '[\w.]+'|type object '\w+') has no attribute '|^`[\w.]+` was removed"
)
COMPILERS = ("torch._dynamo", "torch._inductor", "torch.utils.cpp_extension", "numba.", "llvmlite.")


def incurable(blamed: Blame) -> bool:
    """Whether an error is one that no argument cures: of what is written, not of what is given."""
    error = blamed.error
    if isinstance(error, UnboundLocalError):
        return not blamed.places
    if isinstance(error, AttributeError):
        said = str(error)
        unknown = _UNKNOWN.match(said)
        return bool(MISSPELLED.match(said) or (unknown and (not blamed.places or misspelled(unknown[1]))))
    return isinstance(error, NameError | SyntaxError | ImportError | SystemExit) or blamed.always


def compiling(error: BaseException) -> bool:
    """Whether it was raised while something was compiled, by torch or by numba."""
    traceback = error.__traceback__
    while isinstance(traceback, TracebackType):
        if str(traceback.tb_frame.f_globals.get("__name__", "")).startswith(COMPILERS):
            return True
        traceback = traceback.tb_next
    return False


def standing(error: BaseException) -> str:
    """Where it was raised in code that is neither torch's nor ours, such as ``my_ops.py, line 12``; "" if nowhere."""
    found, traceback = "", error.__traceback__
    while isinstance(traceback, TracebackType):
        if strange(traceback.tb_frame):
            found = f"{PurePath(traceback.tb_frame.f_code.co_filename).name}, line {traceback.tb_lineno}"
        traceback = traceback.tb_next
    return found
