"""Load errors: why a user's file could not be imported, as a sentence, file and line, excerpt and traceback."""

import codecs
import linecache
import os
import sys
import tokenize
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from traceback import FrameSummary, StackSummary, TracebackException
from typing import TypeVar, cast

from ..config.target import BadTarget
from ..paths import SERVER
from ..protocol import load_error
from ..protocol.listed import shortened
from ..runtime.failure import exception_text
from ..runtime.user_call import is_plain, plain_exception
from ..schema.op import LoadError
from .importer import UserFileFinder
from .not_found import NoFunction

_MAX_MESSAGE, _MAX_TRACEBACK = 400, 8000
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# Distributions whose import name differs from the name they are installed by.
_DISTRIBUTIONS = {"cv2": "opencv-python", "PIL": "pillow", "sklearn": "scikit-learn", "skimage": "scikit-image"}
_DISTRIBUTIONS |= {"yaml": "pyyaml", "Crypto": "pycryptodome", "git": "gitpython", "einops_exts": "einops-exts"}

_Plain = TypeVar("_Plain")
_Location = tuple[str, int | None]  # a file, and a line in it


def import_error_report(error: BaseException, reading: UserFileFinder, cwd: str) -> LoadError:
    """The load error for an exception that an import raised, as plain data (``protocol.load_error``).

    ``line`` is that of the innermost frame in the user's files, or of their syntax error.
    """
    if isinstance(error, (BadTarget, NoFunction)):
        return encodable(load_error.load_error(str(error), type(error).__name__))
    error = error if is_plain(error) else plain_exception(error)
    trace = TracebackException.from_exception(error)
    file, line = _location(error, trace, reading)
    name = display_path(file, cwd)
    data = reading.read[file] if file in reading.read else "".join(linecache.getlines(file)).encode()
    excerpt = load_error.excerpt_around(data.decode("utf-8-sig", "replace"), line) if line else []
    sentence = _sentence(error, name, line, data, reading, Path(file).parent)
    report = load_error.load_error(sentence, type(error).__name__, name, line, excerpt, _traceback(trace, reading, cwd))
    return encodable(report)


def encodable(value: _Plain) -> _Plain:
    """Plain data with a question mark for what UTF-8 cannot encode, such as a lone surrogate."""
    return cast(_Plain, _encodable(value))


def _encodable(value: object) -> object:
    if isinstance(value, dict):
        return {key: _encodable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_encodable, value))
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _location(error: BaseException, trace: TracebackException, reading: UserFileFinder) -> _Location:
    if isinstance(error, SyntaxError):
        file = error.filename or next(reversed(reading.read), "")
        line = _decoding_error(reading.read.get(file, b""))[0] or (error.lineno or 1 if error.filename == file else 0)
        if line and file in reading.read:
            return file, line
    frames = [frame for frame in trace.stack if reading.owns(frame.filename)]
    for frame in reversed(frames or [frame for frame in trace.stack if _is_in_source_file(frame)]):
        return frame.filename, frame.lineno
    return next(reversed(reading.read), ""), None


def _is_in_source_file(frame: FrameSummary) -> bool:
    """Whether a frame is in a source file outside importlib and Gradloupe."""
    return not frame.filename.startswith(("<", SERVER)) and "importlib" not in frame.filename


def _sentence(
    error: BaseException, file: str, line: int | None, data: bytes, reading: UserFileFinder, folder: Path
) -> str:
    where = f"{file}, line {line}," if line else file or "It"
    if isinstance(error, SyntaxError):
        message = (error.msg or "invalid syntax").rstrip(".")
        unreadable = _decoding_error(data)[1]
        return f"{where} {unreadable or f'cannot be read as Python: {message}; fix that line and save.'}"
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"{where} imports {error.name}, {_missing_module(error.name, reading, folder)}"
    message = exception_message(error)
    if isinstance(error, ImportError):
        if "partially initialized module" in message:
            circle = f"{where} imports in a circle: {_without_brackets(message)}"
            return f"{circle}; let one of the two files import inside a function."
        return f"{where} cannot import what it asks for: {_missing_name(error.name or '', message, reading)}"
    if isinstance(error, SystemExit):
        guard = 'if __name__ == "__main__":'
        return f"{where} ends the program when it is imported (sys.exit); put a line {guard} above that, and indent it."
    if isinstance(error, EOFError) and "reading a line" in message:
        return f"{where} waits for input when it is imported, and nobody is there; remove that, or give the value."
    raised = f"{type(error).__name__}: {message}" if message else type(error).__name__
    return f"{where} raised {raised.rstrip('.')} when it was imported; fix that line and save."


def _missing_name(module: str, message: str, reading: UserFileFinder) -> str:
    """What is missing from a module that does exist, and what to do."""
    if _is_own(module, reading):
        return f"{_without_brackets(message)}; define it there, or fix that line and save."
    return f"{message}; install or build it for this environment."


def _is_own(name: str, reading: UserFileFinder) -> bool:
    """Whether a module, or its top-level package, is the user's."""
    top = sys.modules.get(name.partition(".")[0])
    places = [getattr(top, "__file__", None) or "", *getattr(top, "__path__", ())]
    return any(place and reading.owns(place) for place in places)


def _without_brackets(message: str) -> str:
    """The message without the part in brackets at its end."""
    return message.partition(" (")[0]


def exception_message(error: BaseException) -> str:
    """The message of an exception, on one line of bounded length; "" where its ``__str__`` raises."""
    return shortened(" ".join(exception_text(error, 4 * _MAX_MESSAGE).split()), _MAX_MESSAGE)


def _missing_module(name: str, reading: UserFileFinder, folder: Path) -> str:
    top = name.partition(".")[0]
    if _is_own(name, reading):
        return "and there is no such file; write it, or fix that line and save."
    if (folder / "__init__.py").is_file() and ((folder / f"{top}.py").is_file() or (folder / top).is_dir()):
        # An unrelated package may be published under that name, so do not advise to install it.
        inside = f"write from . import {top}, or from .{name} import ..., there"
        if (folder / f"{top}.py").is_file():
            return f"which is a file next to it in a package; {inside}."
        return f"which is not installed here. If the folder {top} next to it is meant, {inside}; else install {top}."
    if top in sys.modules:
        return f"and the {top} that is installed here has no such module; install the release of {top} that has it."
    package = _DISTRIBUTIONS.get(top, top)
    return f"which is not installed here; install it in this environment: {sys.executable} -m pip install {package}"


def _decoding_error(data: bytes) -> tuple[int, str]:
    """The line, from 1, at which the bytes cannot be decoded as text, and why; 0 where they can."""
    if data.startswith(_UTF_16):
        return 1, "is the beginning of a text in UTF-16, which Python does not read; save the file as UTF-8."
    try:
        encoding = tokenize.detect_encoding(BytesIO(data).readline)[0]
    except SyntaxError as problem:
        if "invalid or missing" not in str(problem):  # the message for bytes that are not UTF-8, handled below
            return (
                1,
                f"names no encoding that can be: {exception_message(problem)}; "
                "name another, or none and save it as UTF-8.",
            )
        encoding = "utf-8"
    try:
        data.decode(encoding)
    except UnicodeDecodeError as problem:
        return _bad_byte(problem)
    if b"\0" in data:
        return data.count(b"\n", 0, data.index(b"\0")) + 1, "holds a null byte; remove it, and save the file as UTF-8."
    return 0, ""


def _bad_byte(problem: UnicodeDecodeError) -> tuple[int, str]:
    line = problem.object.count(b"\n", 0, problem.start) + 1
    encoding = problem.encoding.upper()
    return line, (
        f"is not {encoding}: it has the byte 0x{problem.object[problem.start]:02X}; save the file as UTF-8, "
        "or name its encoding in its first line, as in # coding: latin-1."
    )


def display_path(file: str, cwd: str) -> str:
    """A path as a user would write it: relative to the working directory, or to ``site-packages``."""
    installed = file.rpartition(f"{os.sep}site-packages{os.sep}")[2]
    inside = file.startswith(os.path.join(cwd, ""))
    return os.path.relpath(file, cwd) if inside and installed == file else installed


def _traceback(trace: TracebackException, reading: UserFileFinder, cwd: str) -> str:
    _keep_user_frames(trace, reading.owns, cwd, set())
    text = "".join(trace.format())
    return text if len(text) <= _MAX_TRACEBACK else f"…{text[1 - _MAX_TRACEBACK :]}"


def _keep_user_frames(trace: TracebackException, owns: Callable[[str], bool], cwd: str, visited: set[int]) -> None:
    """Keep only the user's frames in a traceback, and in those of its causes and contexts."""
    visited.add(id(trace))
    frames = [frame for frame in trace.stack if owns(frame.filename)]
    for frame in frames:
        _shorten_file_name(frame, cwd)
    trace.stack = StackSummary.from_list(frames)
    if isinstance(getattr(trace, "filename", None), str):
        trace.filename = display_path(trace.filename, cwd)
    for other in (trace.__cause__, trace.__context__, *(getattr(trace, "exceptions", None) or ())):
        if other is not None and id(other) not in visited:
            _keep_user_frames(other, owns, cwd, visited)


def _shorten_file_name(frame: FrameSummary, cwd: str) -> None:
    _ = frame.line  # read the source line before the file name changes
    frame.filename = display_path(frame.filename, cwd)
