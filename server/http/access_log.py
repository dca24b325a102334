"""Access log: a line for each request, as text or JSON, with nothing that a client has written; and logging set-up."""

import json
import logging
from contextlib import suppress
from datetime import UTC, datetime
from queue import Full, Queue
from threading import Thread
from typing import Any, TextIO

_MAX_WAITING = 10_000  # lines in the queue; more are dropped
_END = ""
_TEXT = "{time} {method} {route} {status} {ms:.1f} ms {bytes} B {id}"
_OF_A_WORKER = ("op", "ended", "seconds")  # where a record of the log says how one has ended


class AccessLog:
    """Writes lines to ``out``, as JSON or as text, in a thread of its own, as the reader of a pipe may stall."""

    def __init__(self, form: str, out: TextIO) -> None:
        self._form = json.dumps if form == "json" else _text
        self._out = out
        self._lines: Queue[str] = Queue(_MAX_WAITING)
        self._writing = Thread(target=self._write, daemon=True)
        self._writing.start()

    def write(self, method: str, route: str, status: int, seconds: float, size: int, number: str) -> None:
        """Add a line, unless the queue is full; ``route`` is the template of a path, empty where there is none."""
        line = {"time": _now(), "method": method, "route": route, "status": status}
        line |= {"ms": round(seconds * 1e3, 2), "bytes": size, "id": number}
        with suppress(Full):
            self._lines.put_nowait(self._form(line))

    def close(self) -> None:
        """Write the lines in the queue, for a second at most."""
        with suppress(Full):
            self._lines.put_nowait(_END)
        self._writing.join(1.0)

    def _write(self) -> None:
        with suppress(OSError, ValueError):
            while (line := self._lines.get()) != _END:
                self._out.write(f"{line}\n")
                self._out.flush()


class _Lines(logging.Formatter):
    """The server's own log as JSON: of an exception only type and place, as its message may quote a client."""

    def format(self, record: logging.LogRecord) -> str:
        message = record.getMessage().strip()
        line: dict[str, Any] = {"time": _now(), "level": record.levelname.lower(), "message": message}
        if record.exc_info and record.exc_info[1]:
            problem, place = record.exc_info[1], record.exc_info[2]
            while place is not None and place.tb_next is not None:
                place = place.tb_next
            line["kind"] = type(problem).__name__
            line["place"] = f"{place.tb_frame.f_code.co_filename}:{place.tb_lineno}" if place else ""
        line |= {name: vars(record)[name] for name in _OF_A_WORKER if name in vars(record)}
        return json.dumps(line)


def logging_config(form: str) -> dict[str, Any]:
    """The configuration of ``logging`` (dictConfig), so that all lines have one format."""
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


def _text(line: dict[str, Any]) -> str:
    return _TEXT.format_map(line | {"route": line["route"] or "(no such address)"})
