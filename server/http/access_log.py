"""The log: a line for each request, for people or for programs, without anything that a client has written."""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from queue import Full, Queue
from threading import Thread
from typing import Any, TextIO

WAITING = 10_000  # lines
_END = ""


@dataclass(frozen=True)
class Entry:
    """One request; ``route`` is the template of its address, empty where there is none."""

    method: str
    route: str
    status: int
    seconds: float
    size: int
    number: str


class Log:
    """Writes entries to ``out``, as JSON or as text, in a thread of its own: whoever reads them may stop doing so."""

    def __init__(self, form: str, out: TextIO) -> None:
        self._form = _json if form == "json" else _text
        self._out = out
        self._lines: Queue[str] = Queue(WAITING)
        self._writing = Thread(target=self._write, daemon=True)
        self._writing.start()

    def write(self, entry: Entry) -> None:
        """Add a line, if not too many wait already."""
        with suppress(Full):
            self._lines.put_nowait(self._form(_now(), entry))

    def close(self) -> None:
        """Write what waits, if it is read."""
        with suppress(Full):
            self._lines.put_nowait(_END)
        self._writing.join(1.0)

    def _write(self) -> None:
        with suppress(OSError, ValueError):
            while (line := self._lines.get()) != _END:
                self._out.write(f"{line}\n")
                self._out.flush()


class _Lines(logging.Formatter):
    """What the server itself has to say, as JSON: of an exception only kind and place; its text may quote clients."""

    def format(self, record: logging.LogRecord) -> str:
        line = {"time": _now(), "level": record.levelname.lower(), "message": record.getMessage().strip()}
        if record.exc_info and record.exc_info[1]:
            problem, place = record.exc_info[1], record.exc_info[2]
            while place is not None and place.tb_next is not None:
                place = place.tb_next
            line["kind"] = type(problem).__name__
            line["place"] = f"{place.tb_frame.f_code.co_filename}:{place.tb_lineno}" if place else ""
        return json.dumps(line)


def logging_of(form: str) -> dict[str, Any]:
    """What ``logging`` and uvicorn are told, so that all lines have one form."""
    kind = {"()": _Lines} if form == "json" else {"format": "%(levelname)s: %(message)s"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"one": kind},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "one"}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {"gradloupe": {"level": "INFO"}},
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _json(now: str, entry: Entry) -> str:
    line = {
        "time": now,
        "method": entry.method,
        "route": entry.route,
        "status": entry.status,
        "ms": round(entry.seconds * 1e3, 2),
        "bytes": entry.size,
        "id": entry.number,
    }
    return json.dumps(line)


def _text(now: str, entry: Entry) -> str:
    route = entry.route or "(no such address)"
    took = f"{entry.seconds * 1e3:.1f} ms"
    return f"{now} {entry.method} {route} {entry.status} {took} {entry.size} B {entry.number}"
