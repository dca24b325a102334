"""The query of /compare: two ops, parameters of both, and parameters of one side, as in ``right.min=-2``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from ..protocol.question import Question
from ..protocol.suggest import meant
from ..url.address import Address, bounds, defaults, texts
from ..url.elements import suggestion
from ..url.numbers import LARGEST, BadQuery, shown, write
from ..url.parse import LONGEST, TRACKER, LongQuery, read

Op = dict[str, Any]
Words = dict[str, str]

SIDES = ("left", "right")
RANGE = ("start", "stop")
# What may be set for one side, in addition to its parameters and inputs; and what always applies to both.
OF_ONE = ("of", "wrt", "grad_output", "dtype")
OF_BOTH = (*RANGE, "count", "device", "step", "atol", "rtol", "order", "layout", "theme")


@dataclass(frozen=True)
class Pair:
    """Two sections over one range of x; ``usual`` is its default."""

    left: Address
    right: Address
    usual: tuple[float, float]

    @property
    def both(self) -> tuple[Address, Address]:
        """The sections, the left one first."""
        return self.left, self.right


def split(query: str) -> Words:
    """The parameters of a query by name; raises ``BadQuery``."""
    if len(query) > LONGEST:
        raise LongQuery(f"The query has {len(query)} bytes; at most {LONGEST} are allowed, so leave defaults out.")
    given: Words = {}
    for name, text in parse_qsl(query, keep_blank_values=True):
        if TRACKER.fullmatch(name) or (not text and ("." in name or name in OF_BOTH)):  # a field that was left empty
            continue
        if name in given:
            raise BadQuery(f"{shown(name)} is given twice; give it once.")
        given[name] = text
    return given


def named(ops: Mapping[str, Op], given: Words) -> dict[str, Op]:
    """The ops that the query names, by side; raises ``BadQuery`` for one that does not exist."""
    for side in SIDES:
        name = given.get(side)
        if name and name not in ops:
            close = meant(name, ops)
            hint = f"did you mean {close}? Or choose one" if close else "choose one"
            raise BadQuery(f"{side}={shown(name)} names no op; {hint} at /compare, which lists them all.")
    return {side: ops[given[side]] for side in SIDES if given.get(side)}


def read_pair(left: Op, right: Op, device: dict[str, Any], given: Words) -> Pair:
    """The pair of sections that a query stands for; raises ``BadQuery``.

    The default range is the union of those of both ops.
    """
    ops = {"left": left, "right": right}
    check(ops, given)
    usual = _range(_read("left", ops, device, given), _read("right", ops, device, given), ops)
    span = {name: given.get(name) or write(end) for name, end in zip(RANGE, usual, strict=True)}
    return Pair(_read("left", ops, device, given, span), _read("right", ops, device, given, span), usual)


def check(ops: dict[str, Op], given: Words) -> None:
    """Raises ``BadQuery`` for a parameter that the ops, given by side, do not have."""
    for word in given:
        side, dot, name = word.partition(".")
        if side not in SIDES:
            shared = [each for op in ops.values() for each in words(op) if each not in SIDES] + list(OF_BOTH)
            _known(word, shared)
        elif not dot:
            continue
        elif side not in ops:
            raise BadQuery(f"{shown(word)} is for the op on the {side}, and there is none; name it with {side}=….")
        elif name in OF_BOTH:
            raise BadQuery(f"{word} cannot be: both figures have one {name}; write {name} alone.")
        else:
            _known(word, [f"{side}.{each}" for each in words(ops[side])])


def words(op: Op) -> list[str]:
    """The parameters that one side may have."""
    return [each["name"] for each in (*op["parameters"], *op["inputs"])] + list(OF_ONE)


def canonical(left: Op, right: Op, pair: Pair) -> str:
    """The canonical path and query of a pair: defaults left out, common parameters given once."""
    said = shortest(left, right, pair)
    query = "&".join(f"{quote(name)}={quote(text, safe='[],;:')}" for name, text in said.items())
    return f"/compare?{query}"


def shortest(left: Op, right: Op, pair: Pair) -> Words:
    """The parameters of the canonical query, by name."""
    ops = (left, right)
    told = [texts(each) for each in pair.both]
    usual = [defaults(op, each.question.wrt) for op, each in zip(ops, pair.both, strict=True)]
    for each in usual:
        each |= {name: write(end) for name, end in zip(RANGE, pair.usual, strict=True)}
    said = {"left": left["name"], "right": right["name"]}
    for name in dict.fromkeys([*told[0], *told[1]]):
        said |= _said(name, [each.get(name) for each in told], [each.get(name) for each in usual])
    return said


def _said(name: str, told: list[str | None], usual: list[str | None]) -> Words:
    """The fewest parameters that set ``name`` on both sides; None where a side does not have it."""
    new = [text is not None and text != then for text, then in zip(told, usual, strict=True)]
    own = {f"{side}.{name}": text for side, text, fresh in zip(SIDES, told, new, strict=True) if fresh and text}
    if not own or name in SIDES:
        return own
    if None in told:
        return {name: next(iter(own.values()))}
    if told[0] == told[1]:
        return {name: str(told[0])}
    return own if len(own) == 1 else {name: str(told[1]), f"left.{name}": str(told[0])}


def _read(side: str, ops: dict[str, Op], device: dict[str, Any], given: Words, span: Words | None = None) -> Address:
    """One side of the pair, over the range ``span``, its own where there is none."""
    try:
        return read(ops[side], device, _query(side, ops, given, span))
    except BadQuery as problem:
        said = str(problem)
    own = [word for word in given if word.startswith(f"{side}.")]
    if any(said.startswith((f"{word}=", f"{word}:", f"{word} ")) for word in (each[len(side) + 1 :] for each in own)):
        raise BadQuery(f"{side}.{said}")
    try:
        other = SIDES[1 - SIDES.index(side)]
        read(ops[other], device, _query(other, ops, given, span))
    except BadQuery:
        raise BadQuery(said) from None
    raise BadQuery(f"{said.removesuffix('.')} (on the {side}, where {ops[side]['title']} is).")


def _query(side: str, ops: dict[str, Op], given: Words, span: Words | None) -> str:
    """The query of one side by itself."""
    own = {word.partition(".")[2]: text for word, text in given.items() if word.startswith(f"{side}.")}
    allowed = set(words(ops[side])).union(OF_BOTH).difference(SIDES, RANGE)
    shared = {name: text for name, text in given.items() if name in allowed}
    return urlencode(shared | own | (span or {}))


def _range(left: Address, right: Address, ops: dict[str, Op]) -> tuple[float, float]:
    """The union of both ranges, within the bounds of a swept parameter."""
    asked = [left.question, right.question]
    limits = [_limits(ops[side], question) for side, question in zip(SIDES, asked, strict=True)]
    start = max(min(each.start for each in asked), *(low for low, _ in limits))
    stop = min(max(each.stop for each in asked), *(high for _, high in limits))
    if start >= stop:
        names = " and ".join(str(each.wrt) for each in asked)
        raise BadQuery(f"{names} have no value in common, so they cannot share an axis; sweep something else by wrt.")
    return start, stop


def _limits(op: Op, asked: Question) -> tuple[float, float]:
    swept = (bounds(each) for each in op["parameters"] if each["name"] == asked.wrt.name)
    return next(swept, (-LARGEST, LARGEST))


def _known(word: str, allowed: list[str]) -> None:
    if word in allowed:
        return
    allowed = list(dict.fromkeys(allowed))
    raise BadQuery(f"{shown(word)!r} is no name of this address{suggestion(word, allowed)}")
