"""The settings of this process that user code may change for all: saved before it runs, put back after, and told."""

from __future__ import annotations

import operator
import resource
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .arrays import dtype_name

_SIGNALS = (signal.SIGALRM, signal.SIGINT, signal.SIGTERM)
_DENORMAL = sys.float_info.min / 2  # unit: a number that is 0 where denormal numbers are flushed
_Words = Callable[[Any, Any], tuple[str, str]]


@dataclass(frozen=True)
class Setting:
    """How a setting is read and written, and whether it has ``changed`` from one value to another.

    ``words`` are for a change from one value to another: what was done, and what holds once it is put back. None where
    nobody needs to know.
    """

    read: Callable[[], Any]
    write: Callable[[Any], object]
    words: _Words | None = None
    changed: Callable[[Any, Any], bool] = operator.ne


@dataclass(frozen=True)
class Change:
    """What was ``done`` to a setting, and what ``holds`` once it is put back; empty if it stays as it is now."""

    done: str
    holds: str

    def note(self, who: str, when: str, where: str) -> str:
        """As in ``my_ops.py switches gradients off when it is imported; here they are on.``"""
        return f"{who} {self.done} {when}; {f'{where} {self.holds}' if self.holds else 'that is kept'}."


class SavedSettings:
    """What some settings are at this moment. Those ``kept`` are told where they change, and not put back."""

    def __init__(self, settings: Sequence[Setting], kept: Sequence[Setting] = ()) -> None:
        self._settings, self._kept = settings, kept
        self._values = [each.read() for each in settings]

    @contextmanager
    def restored(self) -> Iterator[list[Change]]:
        """Put the settings back on exit; what is yielded is then the list of the changes that are to be told."""
        changes: list[Change] = []
        try:
            yield changes
        finally:
            for place, setting in enumerate(self._settings):
                before, after = self._values[place], setting.read()
                if not setting.changed(before, after):
                    self._values[place] = after
                    continue
                if setting.words:
                    done, holds = setting.words(before, after)
                    changes.append(Change(done, "" if setting in self._kept else holds))
                if setting not in self._kept:
                    setting.write(before)


def _switch(what: str, pronoun: str) -> _Words:
    on_or_off = ("off", "on")
    return lambda before, after: (f"switches {what} {on_or_off[bool(after)]}", f"{pronoun} {on_or_off[bool(before)]}")


# Guards that are entered for good: one that is garbage lets go.
_outside_of_inference: list[torch.inference_mode] = []


def _set_inference_mode(mode: bool) -> None:
    """Go over to this mode, whoever holds the guard of the other; gradients are on outside of inference."""
    guard = torch.inference_mode(mode)
    guard.__enter__()
    _outside_of_inference.append(guard)


def _default_device() -> torch.device:
    try:
        return torch.get_default_device()
    except AttributeError:  # of torch 2.4, once a default was taken back
        return torch.device("cpu")


def _set_handlers(handlers: list[Any]) -> None:
    for each, handler in zip(_SIGNALS, handlers, strict=True):
        with suppress(ValueError, TypeError):  # outside of the main thread, or one that Python did not set
            signal.signal(each, handler)


def _allow_open_files(limits: tuple[int, int]) -> None:
    with suppress(ValueError, OSError):  # only root can raise the hard limit again
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


DEFAULT_DTYPE = Setting(
    torch.get_default_dtype,
    torch.set_default_dtype,
    lambda before, after: (f"sets the default dtype to {dtype_name(after)}", f"it is {dtype_name(before)}"),
)
# In this order: to leave inference mode changes those that follow it.
SETTINGS = (
    Setting(torch.is_inference_mode_enabled, _set_inference_mode, _switch("inference mode", "it is")),
    Setting(torch.is_grad_enabled, torch.set_grad_enabled, _switch("gradients", "they are")),
    Setting(torch._C._is_fwd_grad_enabled, torch._C._set_fwd_grad_enabled),
    Setting(torch._C._is_multithreading_enabled, torch._C._set_multithreading_enabled),
    Setting(
        lambda: (True, torch.is_anomaly_check_nan_enabled()) if torch.is_anomaly_enabled() else None,
        lambda value: torch.autograd.set_detect_anomaly(value is not None, value is None or value[1]),
        _switch("the detection of anomalies", "it is"),
    ),
    Setting(
        _default_device,
        lambda device: torch.set_default_device(None if device.type == "cpu" else device),
        lambda before, after: (f"sets the default device to {after}", "the control “device” decides"),
    ),
    DEFAULT_DTYPE,
    Setting(
        lambda: _DENORMAL * 1.0 == 0,  # there is no other way to ask
        torch.set_flush_denormal,
        _switch("the flushing of tiny numbers to 0", "it is"),
    ),
    Setting(torch.get_num_threads, torch.set_num_threads),
    # Even a call that changes nothing would import all of torch's compiler.
    Setting(
        lambda: (torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()),
        lambda value: torch.use_deterministic_algorithms(value[0], warn_only=value[1]),
        lambda before, after: _switch("deterministic algorithms", "they are")(before[0], after[0]),
    ),
    Setting(np.geterr, lambda errors: np.seterr(**errors)),
    Setting(lambda: [signal.getsignal(each) for each in _SIGNALS], _set_handlers),
    Setting(
        sys.getrecursionlimit,
        sys.setrecursionlimit,
        lambda before, after: (f"sets the recursion limit to {after}", f"it is {before}"),
        operator.gt,
    ),
    Setting(
        lambda: resource.getrlimit(resource.RLIMIT_NOFILE),
        _allow_open_files,
        lambda before, after: (f"allows its process {after[0]} open files", "that is undone if it may be"),
        lambda before, after: bool(after[0] < before[0]),
    ),
    Setting(
        lambda: list(sys.path),
        lambda path: sys.path.extend([each for each in path if each not in sys.path]),
        lambda before, after: ("takes folders off sys.path", "they are on it"),
        lambda before, after: not set(before) <= set(after),
    ),
)
