"""How many copies of itself a visitor's code may make of this process: a few at a time, and none of a copy."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import FrameType

from ..paths import SERVER
from ..protocol.stack_dump import MOST_COPIES
from .child_processes import children


class Copies:
    """From now on, what is asked where this process is to be copied (``os.fork``) by code that is not ours.

    A copy that is to be copied ends instead. In this process itself ``too_many`` is called instead of the copy that is
    one too many, with the frame that asks for it.
    """

    def __init__(self, too_many: Callable[[FrameType], None]) -> None:
        self._too_many = too_many
        self._is_copy = self._by_us = False
        os.register_at_fork(before=self._before, after_in_child=self._in_the_copy)

    def _before(self) -> None:
        frame = sys._getframe(1)
        self._by_us = frame.f_code.co_filename.startswith(SERVER)
        if self._by_us:
            return
        if self._is_copy:
            os._exit(0)
        if len(children()) >= MOST_COPIES:
            self._too_many(frame)

    def _in_the_copy(self) -> None:
        self._is_copy = self._is_copy or not self._by_us
