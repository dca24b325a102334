"""Collects the evidence on all arguments of a Function from its forward, setup_context and backward."""

from __future__ import annotations

from dataclasses import dataclass

from .evidence import Evidence
from .function_source import Written, written
from .name_binding import Notebook
from .reader import Reader
from .returned_nones import Gradients
from .signature import LEFT_OUT, Argument, Signature


@dataclass(frozen=True)
class Gathered:
    """The arguments of a call with the evidence on each; ``count`` is how many gradients backward returns."""

    arguments: tuple[Argument, ...]
    notes: Notebook
    count: int | None

    def of(self, name: str) -> Evidence:
        """The evidence about one argument."""
        return self.notes.arguments[name]


def gathered(signature: Signature) -> Gathered:
    """Read forward, setup_context and backward, where their source is available."""
    star = next((each.name for each in signature.arguments if each.star), "")
    named = [each for each in signature.arguments if not each.star]
    notes = Notebook({each.name: Evidence(each.name) for each in named}, star=star)
    sources = {role: written(method) for role, method in signature.methods.items()}
    _read_forward(signature, notes, sources.get("forward"))
    _read_setup(notes, sources.get("setup_context"), [each.name for each in named])
    gradients = Gradients(sources.get("backward"))
    count = None if signature.plain else gradients.count
    arguments = _expanded(signature, notes, count)
    order = [each.name for each in arguments]
    _read_backward(notes, sources.get("backward"), order)
    for place, name in enumerate(order):
        _note_gradient(notes.arguments[name], None if signature.plain else gradients.differentiable(place), notes)
    for name, known in notes.arguments.items():
        known.few = known.least < 2 and bool(notes.relations.exact((name, 0)))
    return Gathered(arguments, notes, count)


def _read_forward(signature: Signature, notes: Notebook, source: Written | None) -> None:
    if source is None:
        return
    names = source.parameters
    reader = Reader(source, notes, {}, "forward", names[0] if signature.context and names else "")
    reader.of = {name: name for name in names[bool(signature.context) :] if name in notes.arguments}
    reader.star = notes.star
    reader.read()


def _read_setup(notes: Notebook, source: Written | None, order: list[str]) -> None:
    """``setup_context(ctx, inputs, output)`` has the arguments in a tuple."""
    if source is None or len(source.parameters) < 2:
        return
    reader = Reader(source, notes, {}, "setup_context", source.parameters[0])
    inputs = source.parameters[1]
    reader.star = inputs if notes.star and not order else ""
    reader.lists[inputs] = list(order)
    reader.read()


def _read_backward(notes: Notebook, source: Written | None, order: list[str]) -> None:
    if source is None or not source.parameters:
        return
    reader = Reader(source, notes, {}, "backward", source.parameters[0])
    reader.read()


def _expanded(signature: Signature, notes: Notebook, count: int | None) -> tuple[Argument, ...]:
    """The arguments with ``*args`` expanded: as many as are used by name, or as gradients are returned."""
    arguments = list[Argument]()
    for each in signature.arguments:
        if not each.star:
            arguments.append(each)
            continue
        met = sum(name.startswith(each.name) and name[len(each.name) :].isdigit() for name in notes.arguments)
        wanted = max(met, 1 if count is None else count - len(arguments), 0 if arguments else 1)
        for place in range(wanted):
            arguments.append(Argument(notes.starred(place), default=LEFT_OUT))
    return tuple(arguments)


def _note_gradient(known: Evidence, differentiable: bool | None, notes: Notebook) -> None:
    known.differentiable = differentiable
    if differentiable:
        known.speaks("tensor", 5, "backward returns a gradient for it")
    if differentiable is False:
        known.speaks("number", 2, "backward returns None for it")
