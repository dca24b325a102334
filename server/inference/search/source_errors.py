"""Errors that no other arguments would avoid (NameError, ImportError, a misspelled attribute), which end the search."""

from __future__ import annotations

import re
from pathlib import PurePath
from types import TracebackType

from ..source.torch_signatures import is_misspelled
from .blame import Blame, is_user_frame

# A missing attribute of a tensor may mean that the argument should be another object, unless the name is nearly that of
# an attribute of tensors. A missing attribute of a ctx, module or type is always an error of the source.
_UNKNOWN = re.compile(r"^'(?:Tensor|Parameter)' object has no attribute '(\w+)'")
_MISSPELLED = re.compile(
    r"^(?:'\w+Backward' object|module '[\w.]+'|type object '\w+') has no attribute '|^`[\w.]+` was removed"
)
_COMPILERS = ("torch._dynamo", "torch._inductor", "torch.utils.cpp_extension", "numba.", "llvmlite.")


def is_source_error(blamed: Blame) -> bool:
    """Whether an error is caused by the source itself, so that no argument avoids it."""
    error = blamed.error
    if isinstance(error, UnboundLocalError):
        return not blamed.places
    if isinstance(error, AttributeError):
        said = str(error)
        unknown = _UNKNOWN.match(said)
        return bool(_MISSPELLED.match(said) or (unknown and (not blamed.places or is_misspelled(unknown[1]))))
    return isinstance(error, NameError | SyntaxError | ImportError | SystemExit) or blamed.always


def raised_while_compiling(error: BaseException) -> bool:
    """Whether it was raised inside a compiler, that of torch or numba."""
    traceback = error.__traceback__
    while isinstance(traceback, TracebackType):
        if str(traceback.tb_frame.f_globals.get("__name__", "")).startswith(_COMPILERS):
            return True
        traceback = traceback.tb_next
    return False


def user_location(error: BaseException) -> str:
    """The innermost line of user code in the traceback, such as ``my_ops.py, line 12``; "" if there is none."""
    found, traceback = "", error.__traceback__
    while isinstance(traceback, TracebackType):
        if is_user_frame(traceback.tb_frame):
            found = f"{PurePath(traceback.tb_frame.f_code.co_filename).name}, line {traceback.tb_lineno}"
        traceback = traceback.tb_next
    return found
