"""What a visitor's file may set for the whole process while it is imported, put back where it would change curves."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import torch

SIGNALS = (signal.SIGALRM, signal.SIGINT, signal.SIGTERM)


@contextmanager
def settled(name: str, notes: list[str]) -> Iterator[None]:
    """Put back, after the import of ``name``, what is Gradloupe's to choose; ``notes`` are told what that was.

    The default dtype stays what the file says: constants of its Functions may rest on it.
    """
    threads, listening = torch.get_num_threads(), {each: signal.getsignal(each) for each in SIGNALS}
    dtype = torch.get_default_dtype()
    try:
        yield
    finally:
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
        for each, listener in listening.items():
            if signal.getsignal(each) is not listener:
                signal.signal(each, listener)
        if not torch.is_grad_enabled():
            torch.set_grad_enabled(True)
            notes.append(f"{name} switches gradients off when it is imported; here they are on.")
        if torch.is_anomaly_enabled():
            torch.autograd.set_detect_anomaly(False)
            notes.append(f"{name} switches the detection of anomalies on when it is imported; here it is off.")
        if torch.get_default_device().type != "cpu":
            notes.append(
                f"{name} sets the default device to {torch.get_default_device()} when it is imported; "
                "here the control “device” decides."
            )
            torch.set_default_device(None)
    if torch.get_default_dtype() != dtype:
        chosen = str(torch.get_default_dtype()).removeprefix("torch.")
        notes.append(f"{name} sets the default dtype to {chosen} when it is imported; that is kept.")
