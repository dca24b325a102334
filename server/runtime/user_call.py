"""Calls of user code: what it raises arrives as an ``Exception`` whose class can be named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .failure import exception_text
from .timeouts import TookTooLong

_PASSED = (SystemExit, KeyboardInterrupt, TookTooLong)  # they end more than the call
_MAX_MESSAGE = 10_000  # budget: characters of a message


def call_user_code(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """What user code returns. Raises what it raises; where that is no plain ``Exception``, one that says the same.

    What it makes of floating-point errors (``numpy.seterr``) ends with the call.
    """
    with np.errstate():
        try:
            return call(*arguments, **options)
        except _PASSED:
            raise
        except BaseException as error:
            if isinstance(error, Exception) and is_plain(error):
                raise
            raise plain_exception(error) from None


def is_plain(error: BaseException) -> bool:
    """Whether it has a message, and a class whose metaclass does not raise wherever that is named or hashed."""
    try:
        str(error)
    except BaseException:  # noqa: BLE001 an exception may be a Function's own
        return False
    return type(type(error)) is type


def plain_exception(error: BaseException) -> Exception:
    """An ``Exception`` of a plain class, with the class name, the message and the traceback of any other."""
    name = type.__dict__["__name__"].__get__(type(error))
    plain: Exception = type(name, (Exception,), {})(exception_text(error, _MAX_MESSAGE))
    return plain.with_traceback(error.__traceback__)
