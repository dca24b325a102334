"""What ``gradloupe.watch`` returns: a block in which every custom Function is recorded, what was seen in it, and that
judged in this process.
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from ..capture.record import SUFFIX, Capture, written
from ..notebook import process_restored
from ..notebook.arguments import CheckArguments
from ..notebook.figure import notebook_figure
from ..notebook.subject import run_check, subject_or_error
from ..output import atomic_write
from ..protocol.answer import curves_of
from ..protocol.listed import listed
from ..report.result import CheckResult, ExaminedFunction
from ..report.summarize import spared
from ..schema.section import SeenRecord
from ..user_code.captured_calls import captured_override, data_of_function
from . import hooks
from .recorder import BEFORE, Recorder
from .replay import Replay, Step, names_of, replay
from .table import SeenTable
from .to_capture import capture_of


@dataclass(frozen=True, repr=False)
class SeenResults:
    """The results of several Functions; true where all are ``ok``."""

    results: tuple[CheckResult, ...]

    @property
    def ok(self) -> bool:
        """Whether none differs where the data touch it."""
        return all(each.ok for each in self.results)

    def __bool__(self) -> bool:
        return self.ok

    def __iter__(self) -> Iterator[CheckResult]:
        return iter(self.results)

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self.results))


def check_seen(cls: type, capture: Capture, everywhere: bool) -> CheckResult:
    """The check of a Function with what was seen of it, which fails for what that touches, or ``everywhere``."""
    with process_restored():
        found = run_check(cls, _call_seen(cls, capture)).checked
    return found if everywhere else spared(found)


def summary_of_seen(cls: type, capture: Capture) -> SeenRecord | None:
    """What is said of the first input of a Function; None where it cannot be called."""
    with process_restored():
        wanted = _call_seen(cls, capture)
        subject = subject_or_error(cls, wanted)
        if isinstance(subject, ExaminedFunction):
            return None
        try:
            return curves_of(subject.frame(wanted.address(subject.told).question)).header["seen"]
        except (Exception, SystemExit):  # noqa: BLE001 a Function may raise anything; its check says what
            return None


def look_at_seen(cls: type, capture: Capture) -> Any:
    """The live figure of a Function with what was seen of it."""
    with process_restored():
        return notebook_figure(cls, _call_seen(cls, capture))


def _call_seen(cls: type, capture: Capture) -> CheckArguments:
    """The arguments of a check with the call, and the numbers, that a capture has of a Function."""
    data = data_of_function(capture, cls)
    found = captured_override(data, cls) if data else None
    return CheckArguments(example_inputs=found and found.values, data=data)


_MIB = 1 << 20
_EAGER = "What torch.compile has compiled runs eagerly in the block, so that its Functions can be seen."
_BREAKS = "torch.compile has broken its graph {}: {}."
_MOST_BREAKS, _LONGEST = 3, 160


def watch(model: torch.nn.Module | None = None, *, sample: int = 512, memory: float = 64, exact: bool = False) -> Seen:
    """Record what passes through every custom Function in a block: ``with gradloupe.watch(model) as seen:``.

    Without a ``model`` that is every one that runs, in all threads; with one those that its modules call, and ``seen``
    knows by which. Of every input and grad_output of a call ``sample`` numbers are kept, of outputs and grad_inputs a
    quarter, at the same places of all tensors of one size. Of the first call of each site the tensors are kept, too, in
    at most ``memory`` MiB: of more than 4096 elements as many rows. With ``exact`` the extremes of all numbers are
    taken, NaN included, which takes longer. Losses, gradients and random numbers stay what they are, to the bit. Raises
    ``TypeError`` for what is no module, and ``RuntimeError`` where this torch cannot be watched.
    """
    if model is not None and not isinstance(model, torch.nn.Module):
        raise TypeError(f"{type(model).__name__} is no torch.nn.Module; watch a model, or nothing: watch().")
    paths = None
    if model is not None:
        paths = {id(each): name for name, each in model.named_modules()}
    return Seen(model, Recorder(paths, int(sample), int(memory * _MIB), exact), memory)


class Seen:
    """What was seen; several blocks and steps add up. ``print`` it for a table."""

    def __init__(self, model: torch.nn.Module | None, recorder: Recorder, memory: float) -> None:
        self._model, self._recorder, self._memory = model, recorder, memory
        self._block: tuple[Step, dict[str, Any]] | None = None
        self._judged: tuple[int, SeenTable] | None = None
        self._stance: AbstractContextManager[Any] = nullcontext()

    def __enter__(self) -> Seen:
        self._block = block_of(sys._getframe(1))
        if "torch._dynamo" in sys.modules:  # else nothing is compiled, and its import takes seconds
            self._stance = _eagerly()
        hooks.observe(self._recorder)
        self._stance.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._stance.__exit__(*raised)
        self._stance = nullcontext()
        hooks.forget(self._recorder)

    @property
    def capture(self) -> Capture:
        """All that was recorded, as plain data."""
        return capture_of(self._recorder, list(self._said()))

    def save(self, path: str | Path, values: bool = True) -> Path:
        """Write a file that holds no code, and is safe to load from anybody; returns where it is.

        Without ``values`` it has quantiles in the place of numbers, and no tensors. A path without an ending gets
        ``.gradloupe``. Raises ``OSError``.
        """
        where = Path(path)
        where = where if where.suffix else where.with_suffix(SUFFIX)
        atomic_write(where, written(capture_of(self._recorder, list(self._said()), values)))
        return where

    def check(self, function: Any = None, everywhere: bool = False) -> CheckResult | SeenResults:
        """The check of a Function, by its class or name, in the call of the step; of all Functions without any.

        True where all is well: what differs where none of your numbers lie is a failure only ``everywhere``. Raises
        ``ValueError`` for a Function that was not called.
        """
        if function is not None:
            return check_seen(self._named(function), self.capture, everywhere)
        capture = self.capture
        return SeenResults(tuple(check_seen(each, capture, everywhere) for each in self._classes()))

    def look(self, function: Any = None) -> Any:
        """The live figure of a Function with your numbers under its curves, for the cell of a notebook.

        Without ``function``, of the only one that was called. Raises ``ValueError`` for one that was not.
        """
        return look_at_seen(self._named(function), self.capture)

    def replay(
        self, step: Step | None = None, /, *, torch: str = "", steps: int = 1, seed: int = 0, **functions: Any
    ) -> Replay:
        """Run the step twice from the same seed and state, as it is and with other Functions: losses and gradients.

        ``seen.replay(ClampWithGrad=Other)`` runs ``Other`` wherever the step calls ``ClampWithGrad``. With ``torch``,
        such as "2.14", ``torch.clamp`` has the slope of that version at its bounds. ``step`` is a function without
        arguments; without one the body of the block is run again, with the names it saw. It is run ``steps`` times.
        Modules, tensors and optimizers that it names are put back afterwards; what else it changes stays changed.
        Raises ``ValueError`` where there is nothing to swap or no code to run, ``TypeError`` for what is no Function.
        """
        swapped = {self._named(name): other for name, other in functions.items()}
        if not (swapped or torch):
            raise ValueError("Nothing is swapped; name a Function and another, as in replay(Mine=Other), or torch=.")
        run, names = (step, names_of(step)) if step else self._block or (None, {})
        if run is None:
            raise ValueError("The code of the block is not to be had; give the step as a function: replay(step, ...).")
        names = names if self._model is None else {"": self._model, **names}
        return replay(run, names, swapped, torch, steps, seed)

    def _classes(self) -> dict[type, None]:
        return dict.fromkeys(site.cls for site in self._recorder.sites.values())

    def _named(self, function: Any) -> type:
        classes, name = list(self._classes()), getattr(function, "__qualname__", function)
        found = [each for each in classes if function in (None, each) or name in (each.__name__, each.__qualname__)]
        if len(found) == 1:
            return found[0]
        names = listed([each.__qualname__ for each in classes], "or") if classes else ""
        asked = f"{name} was not called in the block" if function is not None else "The block has called several"
        raise ValueError(f"{asked}; name one of {names}." if names else "No custom Function was called in the block.")

    def __repr__(self) -> str:
        return self._table().text()

    def _table(self) -> SeenTable:
        """The table, whose Functions are judged once for the calls that there are."""
        passed = sum(each.calls + each.backwards for each in self._recorder.sites.values())
        if self._judged is None or self._judged[0] != passed:
            capture = self.capture
            found = {each.__qualname__: summary_of_seen(each, capture) for each in self._classes()}
            table = SeenTable(capture, {name: one for name, one in found.items() if one})
            self._judged = passed, table
        return self._judged[1]

    def _said(self) -> Iterator[str]:
        """The notes on the recording."""
        if "torch._dynamo" in sys.modules:
            yield _EAGER
            breaks = list(_graph_breaks())
            if breaks:
                where = "once" if len(breaks) == 1 else f"at {len(breaks)} places"
                yield _BREAKS.format(where, "; ".join(each[:_LONGEST] for each in breaks[:_MOST_BREAKS]))
        if any(site.line == BEFORE for site in self._recorder.sites.values()):
            yield "Some forwards ran before the block, so of these only the gradients were seen."
        for said, count in self._recorder.problems.items():
            yield f"{count} tensors could not be recorded: {said}"
        held = self._recorder.held / _MIB
        yield f"The tensors of first calls take {held:.2g} of {self._memory:g} MiB."


def _eagerly() -> AbstractContextManager[Any]:
    """A block in which what torch.compile has compiled runs eagerly."""
    older = not hasattr(torch.compiler, "set_stance")  # than 2.6
    return _frames_as_they_are() if older else torch.compiler.set_stance("force_eager")


@contextmanager
def _frames_as_they_are() -> Iterator[None]:
    """A block in which a call of what is compiled asks in vain for its frames to be replaced."""
    frames: Any = sys.modules["torch._dynamo.eval_frame"]
    asked = frames.set_eval_frame
    frames.set_eval_frame = lambda callback: callback
    try:
        yield
    finally:
        frames.set_eval_frame = asked


def _graph_breaks() -> dict[str, int]:
    """The reasons for which torch.compile has broken a graph in this process."""
    counters = sys.modules["torch._dynamo"].utils.counters
    return {" ".join(str(reason).split()): count for reason, count in counters.get("graph_break", {}).items()}


def block_of(frame: FrameType) -> tuple[Callable[[], None], dict[str, Any]] | None:
    """The body of the block that this frame enters, and the names that it sees; None where its code is not to be had.

    That is so at a prompt that keeps no lines, and where the body returns, yields or awaits.
    """
    code = frame.f_code
    try:
        tree = ast.parse("".join(linecache.getlines(code.co_filename, frame.f_globals)))
        node = _entered(tree, frame.f_lineno)
        if node is None:
            return None
        body = compile(ast.Module(node.body, []), code.co_filename, "exec")
    except (SyntaxError, ValueError):
        return None
    # One space for both, as functions inside of the body look names up there.
    names = {**frame.f_globals, **frame.f_locals}
    return (lambda: exec(body, dict(names))), names  # noqa: S102 - the user's own code, once more


def _entered(tree: ast.AST, line: int) -> ast.With | None:
    """The innermost ``with`` whose items stand at this line."""
    withs = [node for node in ast.walk(tree) if isinstance(node, ast.With)]
    found = [node for node in withs if node.lineno <= line <= (node.items[-1].context_expr.end_lineno or 0)]
    return max(found, key=lambda node: node.lineno, default=None)
