"""Collects the evidence on all arguments of a Function from its forward, setup_context and backward."""

from __future__ import annotations

from dataclasses import dataclass

from . import name_hints
from .complex_evidence import note_complex
from .documented_shapes import note_documented_shapes
from .documented_values import note_documented_bounds, note_documented_values
from .evidence import ArgumentEvidence
from .function_source import FunctionTree, read_function_source
from .name_binding import ReadingState
from .reader import Reader
from .returned_nones import ReturnedGradients
from .signature import LEFT_OUT, Signature, SignatureArgument
from .usage import note_usage


@dataclass(frozen=True)
class CollectedEvidence:
    """The arguments of a call with the evidence on each."""

    arguments: tuple[SignatureArgument, ...]
    notes: ReadingState

    def of(self, name: str) -> ArgumentEvidence:
        return self.notes.arguments[name]


def collect_evidence(signature: Signature) -> CollectedEvidence:
    """Read forward, setup_context and backward, where their source is available."""
    star = next((each.name for each in signature.arguments if each.star), "")
    named = [each for each in signature.arguments if not each.star]
    notes = ReadingState({each.name: ArgumentEvidence(each.name) for each in named}, star=star)
    sources = {role: read_function_source(method) for role, method in signature.methods.items()}
    _read_forward(signature, notes, sources.get("forward"))
    _read_setup(notes, sources.get("setup_context"), [each.name for each in named])
    gradients = ReturnedGradients(sources.get("backward"))
    count = None if signature.plain else gradients.count
    arguments = _expanded(signature, notes, count)
    order = [each.name for each in arguments]
    _read_backward(notes, sources.get("backward"), order)
    for place, name in enumerate(order):
        _note_gradient(notes.arguments[name], None if signature.plain else gradients.differentiable(place), notes)
    note_complex(signature, notes.arguments)
    note_usage(signature, notes)
    note_documented_shapes(signature, notes)
    note_documented_values(signature, notes)
    note_documented_bounds(signature, notes)
    for name, known in notes.arguments.items():
        picks = known.weight("index") > 0 or name_hints.INDEX_NAME.search(name.lower())
        if name_hints.EDGES_NAME.search(name.lower()) or (picks and known.length == 2):  # as in rows, columns = indices
            known.has_rank(2, "it has both ends of each edge", sure=False)
            notes.relations.fixed.setdefault((name, 0), 2)
        known.few = known.least < 2 and bool(notes.relations.exact((name, 0)))
    return CollectedEvidence(arguments, notes)


def _read_forward(signature: Signature, notes: ReadingState, source: FunctionTree | None) -> None:
    if source is None:
        return
    names = source.parameters
    reader = Reader(source, notes, {}, "forward", names[0] if signature.context and names else "")
    reader.of = {name: name for name in names[bool(signature.context) :] if name in notes.arguments}
    reader.star = notes.star
    reader.read()


def _read_setup(notes: ReadingState, source: FunctionTree | None, order: list[str]) -> None:
    """``setup_context(ctx, inputs, output)`` has the arguments in a tuple."""
    if source is None or len(source.parameters) < 2:
        return
    reader = Reader(source, notes, {}, "setup_context", source.parameters[0])
    inputs = source.parameters[1]
    reader.star = inputs if notes.star and not order else ""
    reader.lists[inputs] = list(order)
    reader.read()


def _read_backward(notes: ReadingState, source: FunctionTree | None, order: list[str]) -> None:
    if source is None or not source.parameters:
        return
    reader = Reader(source, notes, {}, "backward", source.parameters[0])
    reader.read()


def _expanded(signature: Signature, notes: ReadingState, count: int | None) -> tuple[SignatureArgument, ...]:
    """The arguments with ``*args`` expanded: as many as are used by name, or as gradients are returned."""
    arguments = list[SignatureArgument]()
    for each in signature.arguments:
        if not each.star:
            arguments.append(each)
            continue
        named_count = sum(name.startswith(each.name) and name[len(each.name) :].isdigit() for name in notes.arguments)
        wanted = max(named_count, 1 if count is None else count - len(arguments), 0 if arguments else 1)
        for place in range(wanted):
            arguments.append(SignatureArgument(notes.starred(place), default=LEFT_OUT))
    return tuple(arguments)


def _note_gradient(known: ArgumentEvidence, differentiable: bool | None, notes: ReadingState) -> None:
    known.differentiable = differentiable
    if differentiable:
        known.supports("tensor", 5, "backward returns a gradient for it")
    if differentiable is False:
        known.supports("number", 2, "backward returns None for it")
