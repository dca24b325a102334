"""Crash report of a worker: exit status, exceeded limit and last line, as an answer or a load error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..protocol.answer import Answer, asked_record, empty_answer
from ..protocol.frames import Frame
from ..protocol.job import Job
from ..protocol.load_error import excerpt_around, load_error, source_lines
from ..protocol.messages import BrokenMessage
from ..protocol.question import Question
from ..protocol.stack_dump import MAX_FORKS, StackFrame, innermost_user_frame, last_line
from ..schema.op import DeviceSummary, Excerpt, LoadError, OpStub, UnsolvedOp
from ..schema.section import FailureRecord

_ADVICE = {
    "Timeout": "; let it compute less there, or allow it more time",
    "Memory": "; let it take less there, or allow it more",
    "exit": "; call that only where `__name__` is `__main__`",
}


def startup_crash(lost: WorkerLost, job: Job) -> BrokenMessage:
    """The greeting of a worker that died before sending one."""
    last = innermost_user_frame(lost.calls)
    if job.foreign:
        advice = _ADVICE.get("exit" if lost.kind.startswith("exit code") else lost.kind, "")
        sentence = f"The process that imported {', '.join(job.foreign)} {lost}{lost.place()}{advice}."
    else:
        sentence = f"The worker process {lost} while it loaded the ops{lost.place()}; see the log."
    trouble = _load_error(sentence, lost.kind, last, _excerpt(last))
    return {"kind": "broken", "sentence": sentence, "trouble": trouble, "files": []}


def _load_error(sentence: str, kind: str, last: StackFrame | None, excerpt: Excerpt) -> LoadError:
    file, line = (Path(last.file).name, last.line) if last else ("", None)
    return load_error(sentence, kind, file, line, excerpt)


def _excerpt(last: StackFrame | None) -> Excerpt:
    """The lines around the last frame, as they are in the file now."""
    if last is None:
        return []
    try:
        text = Path(last.file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return excerpt_around(text, last.line)


_SIGNALS = {
    "SIGSEGV": "ended with a segmentation fault (SIGSEGV)",
    "SIGBUS": "ended with a bus error (SIGBUS)",
    "SIGFPE": "ended with an arithmetic error of the processor (SIGFPE)",
    "SIGILL": "ended with an instruction the processor does not have (SIGILL)",
    "SIGABRT": "was aborted by a library (SIGABRT)",
    "SIGKILL": "was killed (SIGKILL), by somebody or because the memory of this machine ran out",
    "SIGTERM": "was asked to end by somebody (SIGTERM)",
    "SIGXCPU": "was ended by the system, which had allowed it less time (SIGXCPU)",
}


@dataclass(frozen=True)
class ExceededLimit:
    """A limit that a worker has exceeded: ``kind`` is Timeout, Memory or Processes, ``name`` says which and how much.

    ``advice`` goes on after the line that was running. ``waited`` says whether other processes held it up for a good
    part of the time.
    """

    kind: str
    name: str
    advice: str = ""
    waited: bool = False


_WITHOUT_STACK = " (by a library, or because files were closed or written to that the Function had not opened)"
FORK_LIMIT = ExceededLimit(
    "Processes",
    f"limit of {MAX_FORKS} processes started by os.fork",
    ", which is to wait for what it starts, or to start nothing",
)


class WorkerLost(Exception):
    """The worker ended before it answered, by itself or killed at a limit.

    ``ended`` is the exit status from ``WorkerProcess.reap``, ``calls`` is the stack, innermost first. The message goes
    on after "The worker process".
    """

    def __init__(self, ended: str, limit: ExceededLimit | None = None, calls: Sequence[StackFrame] = ()) -> None:
        self.kind = limit.kind if limit else ended.rpartition(", ")[2]
        super().__init__(f"was ended at the {limit.name}" if limit else _describe_exit(ended, located=bool(calls)))
        self.ended, self.limit, self.calls = ended, limit, tuple(calls)

    @property
    def at_limit(self) -> bool:
        """Whether we killed it at a limit, so that asking again would lead to the same."""
        return self.limit is not None

    def place(self, file: str = "") -> str:
        """The line that was running, in ``file`` if the stack has one there, as the end of a sentence."""
        last = last_line(self.calls, file)
        return last + self.limit.advice if self.limit and last else last


class GpuLost(WorkerLost):
    """The worker ended after an ``error`` of the GPU, which no process survives that uses it; asked again, it repeats.

    The message goes on after "The worker process".
    """

    def __init__(self, ended: str, error: str) -> None:
        super().__init__(ended, ExceededLimit("GPU", ""))
        self.args, self.error = (f"could not use the GPU any more after “{error}”",), error


class NoiseSent(WorkerLost):
    """The worker sent what is no reply, and was ended. The message goes on after "The worker process"."""

    def __init__(self, ended: str) -> None:
        super().__init__(ended)
        self.kind, self.args = "Noise", (f"sent what is no answer{_WITHOUT_STACK}",)


def _describe_exit(ended: str, located: bool) -> str:
    """An exit status from ``WorkerProcess.reap``, in words that go on after "The worker process".

    ``located`` says whether the stack is known: it is wherever Python ends the process itself.
    """
    kind = ended.rpartition(", ")[2]
    if kind.startswith("exit code "):
        return (
            f"called exit with code {kind.removeprefix('exit code ')}"
            if located
            else f"ended with {kind}{_WITHOUT_STACK}"
        )
    return _SIGNALS.get(kind, f"was ended by a signal ({kind})")


def crash_answer(lost: WorkerLost, question: Question, op: OpStub, device: DeviceSummary) -> Answer:
    """The answer to a question that the worker did not survive: exit status and last line, no columns."""
    place = lost.place(op["file"])
    sentence = f"The worker process {lost} while it computed {question.op}{place}; a new one is starting."
    kinds = {each["kind"]: each["name"] for each in device["devices"]}
    kind = device["auto"] if question.device == "auto" else question.device
    asked = asked_record(question, op["title"], op["claim"], {"kind": kind, "name": kinds[kind]})
    failure: FailureRecord = {
        "phase": "worker",
        "kind": lost.kind,
        "message": sentence,
        "line": _source_line(lost, op),
        "sentence": sentence,
    }
    return Frame(empty_answer(question, asked, sentence, failure))


def _source_line(lost: WorkerLost, op: OpStub) -> int | None:
    """The last line within the source shown of the op, counted from 1."""
    first, number = op["first_line"], op["source"].count("\n")
    lines = (call for call in lost.calls if call.lies_in(op["file"]) and first <= call.line < first + number)
    return next((call.line - first + 1 for call in lines), None)


def inference_crash(lost: WorkerLost, stub: OpStub, recipe: str) -> UnsolvedOp:
    """The data of ``Unsolved`` where the worker ended during inference; which argument is at fault is not known."""
    attempt = f"was called as `{recipe}`" if recipe else "was tried with one set of arguments after the other"
    place = lost.place(stub["file"])
    sentence = f"The worker process {lost} while {stub['title']} {attempt}{place}; a new one is starting."
    last = innermost_user_frame(lost.calls, stub["file"])
    return {
        **stub,
        "sentence": sentence,
        "argument": "",
        "recipe": recipe,
        "tried": [],
        "parameters": [],
        "trouble": _load_error(sentence, lost.kind, last, _excerpt_of_source(last, stub)),
        "sayable": False,
        "unfit": False,
    }


def _excerpt_of_source(last: StackFrame | None, stub: OpStub) -> Excerpt:
    """The lines around the last frame, where it is in the source of the Function."""
    source, first = stub["source"], stub["first_line"]
    if last is None or not last.lies_in(stub["file"]) or not 0 <= last.line - first < len(source_lines(source)):
        return []
    return excerpt_around(source, last.line, first, columns=None)
