"""The query of /compare: two ops, parameters of both, and parameters of one side, as in ``right.min=-2``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

from ..protocol.question import Question
from ..protocol.suggest import closest_match
from ..url.address import Address, default_query_values, encoded_query, query_values, value_bounds
from ..url.numbers import LARGEST, BadQuery, printable_excerpt, write_number
from ..url.parse import TRACKING_PARAMETER, check_length, read_address
from ..url.swept_elements import suggestion

OpRecord = dict[str, Any]
QueryWords = dict[str, str]

SIDES = ("left", "right")
RANGE_NAMES = ("start", "stop")
# What may be set for one side, in addition to its parameters and inputs; and what always applies to both.
_OF_ONE = ("of", "wrt", "grad_output", "dtype")
_OF_BOTH = (*RANGE_NAMES, "count", "device", "step", "atol", "rtol", "order", "layout", "theme")


@dataclass(frozen=True)
class SectionPair:
    """Two sections over one range of x; ``usual`` is its default."""

    left: Address
    right: Address
    usual: tuple[float, float]

    @property
    def both(self) -> tuple[Address, Address]:
        """The sections, the left one first."""
        return self.left, self.right


def split_query(query: str) -> QueryWords:
    """The parameters of a query by name; raises ``BadQuery``."""
    check_length(query)
    given: QueryWords = {}
    for name, text in parse_qsl(query, keep_blank_values=True):
        is_empty_field = not text and ("." in name or name in _OF_BOTH)
        if is_empty_field or TRACKING_PARAMETER.fullmatch(name):
            continue
        if name in given:
            raise BadQuery(f"{printable_excerpt(name)} is given twice; give it once.")
        given[name] = text
    return given


def named_ops(ops: Mapping[str, OpRecord], given: QueryWords) -> dict[str, OpRecord]:
    """The ops that the query names, by side; raises ``BadQuery`` for one that does not exist."""
    for side in SIDES:
        name = given.get(side)
        if name and name not in ops:
            close = closest_match(name, ops)
            hint = f"did you mean {close}? Or choose one" if close else "choose one"
            raise BadQuery(f"{side}={printable_excerpt(name)} names no op; {hint} at /compare, which lists them all.")
    return {side: ops[given[side]] for side in SIDES if given.get(side)}


def read_pair(left: OpRecord, right: OpRecord, device: dict[str, Any], given: QueryWords) -> SectionPair:
    """The pair of sections that a query stands for; raises ``BadQuery``.

    The default range is the union of those of both ops.
    """
    ops = {"left": left, "right": right}
    check_query_words(ops, given)
    usual = _range(_read("left", ops, device, given), _read("right", ops, device, given), ops)
    span = {name: given.get(name) or write_number(end) for name, end in zip(RANGE_NAMES, usual, strict=True)}
    return SectionPair(_read("left", ops, device, given, span), _read("right", ops, device, given, span), usual)


def check_query_words(ops: dict[str, OpRecord], given: QueryWords) -> None:
    """Raises ``BadQuery`` for a parameter that the ops, given by side, do not have."""
    for word in given:
        side, dot, name = word.partition(".")
        if side not in SIDES:
            shared = [each for op in ops.values() for each in _words_of_side(op) if each not in SIDES] + list(_OF_BOTH)
            _check_name(word, shared)
        elif not dot:
            continue
        elif side not in ops:
            raise BadQuery(
                f"{printable_excerpt(word)} is for the op on the {side}, and there is none; name it with {side}=…."
            )
        elif name in _OF_BOTH:
            raise BadQuery(f"{word} cannot be: both figures have one {name}; write {name} alone.")
        else:
            _check_name(word, [f"{side}.{each}" for each in _words_of_side(ops[side])])


def _words_of_side(op: OpRecord) -> list[str]:
    """The parameters that one side may have."""
    return [each["name"] for each in (*op["parameters"], *op["inputs"])] + list(_OF_ONE)


def pair_address(left: OpRecord, right: OpRecord, pair: SectionPair) -> str:
    """The canonical path and query of a pair: defaults left out, common parameters given once."""
    return f"/compare?{encoded_query(shortest_words(left, right, pair))}"


def shortest_words(left: OpRecord, right: OpRecord, pair: SectionPair) -> QueryWords:
    """The parameters of the canonical query, by name."""
    ops = (left, right)
    values = [query_values(each) for each in pair.both]
    usual = [default_query_values(op, each.question.wrt) for op, each in zip(ops, pair.both, strict=True)]
    for each in usual:
        each |= {name: write_number(end) for name, end in zip(RANGE_NAMES, pair.usual, strict=True)}
    words = {"left": left["name"], "right": right["name"]}
    for name in dict.fromkeys([*values[0], *values[1]]):
        words |= _fewest_words(name, [each.get(name) for each in values], [each.get(name) for each in usual])
    return words


def _fewest_words(name: str, values: list[str | None], usual: list[str | None]) -> QueryWords:
    """The fewest parameters that set ``name`` on both sides; None where a side does not have it."""
    differs = [text is not None and text != default for text, default in zip(values, usual, strict=True)]
    own = {f"{side}.{name}": text for side, text, new in zip(SIDES, values, differs, strict=True) if new and text}
    if not own or name in SIDES:
        return own
    if None in values:
        return {name: next(iter(own.values()))}
    if values[0] == values[1]:
        return {name: str(values[0])}
    return own if len(own) == 1 else {name: str(values[1]), f"left.{name}": str(values[0])}


def _read(
    side: str, ops: dict[str, OpRecord], device: dict[str, Any], given: QueryWords, span: QueryWords | None = None
) -> Address:
    """One side of the pair, over the range ``span``, its own where there is none."""
    try:
        return read_address(ops[side], device, _query(side, ops, given, span))
    except BadQuery as problem:
        message = str(problem)
    own = [word for word in given if word.startswith(f"{side}.")]
    if any(
        message.startswith((f"{word}=", f"{word}:", f"{word} ")) for word in (each[len(side) + 1 :] for each in own)
    ):
        raise BadQuery(f"{side}.{message}")
    try:
        other = SIDES[1 - SIDES.index(side)]
        read_address(ops[other], device, _query(other, ops, given, span))
    except BadQuery:
        raise BadQuery(message) from None
    raise BadQuery(f"{message.removesuffix('.')} (on the {side}, where {ops[side]['title']} is).")


def _query(side: str, ops: dict[str, OpRecord], given: QueryWords, span: QueryWords | None) -> str:
    """The query of one side by itself."""
    own = {word.partition(".")[2]: text for word, text in given.items() if word.startswith(f"{side}.")}
    allowed = set(_words_of_side(ops[side])).union(_OF_BOTH).difference(SIDES, RANGE_NAMES)
    shared = {name: text for name, text in given.items() if name in allowed}
    return urlencode(shared | own | (span or {}))


def _range(left: Address, right: Address, ops: dict[str, OpRecord]) -> tuple[float, float]:
    """The union of both ranges, within the bounds of a swept parameter."""
    asked = [left.question, right.question]
    limits = [_limits(ops[side], question) for side, question in zip(SIDES, asked, strict=True)]
    start = max(min(each.start for each in asked), *(low for low, _ in limits))
    stop = min(max(each.stop for each in asked), *(high for _, high in limits))
    if start >= stop:
        names = " and ".join(str(each.wrt) for each in asked)
        raise BadQuery(f"{names} have no value in common, so they cannot share an axis; sweep something else by wrt.")
    return start, stop


def _limits(op: OpRecord, asked: Question) -> tuple[float, float]:
    swept = (value_bounds(each) for each in op["parameters"] if each["name"] == asked.wrt.name)
    return next(swept, (-LARGEST, LARGEST))


def _check_name(word: str, allowed: list[str]) -> None:
    if word not in allowed:
        allowed = list(dict.fromkeys(allowed))
        raise BadQuery(f"{printable_excerpt(word)!r} is no name of this address{suggestion(word, allowed)}")
