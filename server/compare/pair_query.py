"""The query of /compare: two ops, parameters of both, and parameters of one side, as in ``right.min=-2``."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..protocol.errors import Refusal
from ..protocol.listed import did_you_mean
from ..schema.op import DeviceSummary, OpDescription, OpStub
from ..url.address import (
    Address,
    default_query_values,
    encoded_query,
    names_of_scope,
    query_values,
    with_range,
)
from ..url.numbers import BadQuery, printable_excerpt, read_float, write_number
from ..url.parse import QueryWords, checked_address, parse_query, read_address
from ..url.swept_elements import suggestion, swept_bounds

SIDES = ("left", "right")
RANGE_NAMES = ("start", "stop")
# What may be set for one side, in addition to its parameters and inputs; and what always applies to both.
_OF_ONE = ("of", "wrt", "grad_output", "dtype")
OF_BOTH = (*(name for name in names_of_scope("section") if name not in (*_OF_ONE, "recipe")), "theme")


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


def pair_words(query: str) -> QueryWords:
    """The parameters of a query by name, without the fields of a form that are empty; raises ``BadQuery``."""
    return {name: text for name, text in parse_query(query).items() if text or not ("." in name or name in OF_BOTH)}


def named_ops(ops: Mapping[str, OpStub], given: QueryWords) -> dict[str, OpStub]:
    """The ops that the query names, by side; raises ``BadQuery`` for one that does not exist."""
    for side in SIDES:
        name = given.get(side)
        if name and name not in ops:
            hint = did_you_mean(name, ops, "/compare lists them all.")
            raise BadQuery(f"{side}={printable_excerpt(name)} names no op; {hint}", side)
    return {side: ops[given[side]] for side in SIDES if given.get(side)}


def read_pair(left: OpDescription, right: OpDescription, device: DeviceSummary, given: QueryWords) -> SectionPair:
    """The pair of sections that a query stands for; raises ``BadQuery``.

    The default range is the union of those of both ops.
    """
    ops = {"left": left, "right": right}
    check_query_words(ops, given)
    words = {side: _words_for(side, op, given) for side, op in ops.items()}
    read = _both(ops, given, lambda side: read_address(ops[side], device, words[side]))
    usual = _range(read["left"], read["right"], ops)
    start, stop = (
        read_float(name, given[name]) if name in given else end for name, end in zip(RANGE_NAMES, usual, strict=True)
    )
    asked = _both(ops, given, lambda side: checked_address(ops[side], device, with_range(read[side], (start, stop))))
    return SectionPair(asked["left"], asked["right"], usual)


def check_query_words(ops: dict[str, OpDescription], given: QueryWords) -> None:
    """Raises ``BadQuery`` for a parameter that the ops, given by side, do not have."""
    for word in given:
        side, dot, name = word.partition(".")
        if side not in SIDES:
            shared = [each for op in ops.values() for each in _words_of_side(op) if each not in SIDES] + list(OF_BOTH)
            _check_name(word, shared)
        elif not dot:
            continue
        elif side not in ops:
            reason = f"is for the op on the {side}, and there is none; name it with {side}=…"
            raise BadQuery(f"{printable_excerpt(word)} {reason}.", word)
        elif name in OF_BOTH:
            raise BadQuery(f"{word} is not possible: both figures share one {name}; write {name} alone.", word)
        else:
            _check_name(word, [f"{side}.{each}" for each in _words_of_side(ops[side])])


def _words_of_side(op: OpDescription) -> list[str]:
    """The parameters that one side may have."""
    return [each["name"] for each in (*op["parameters"], *op["inputs"])] + list(_OF_ONE)


def pair_address(left: OpDescription, right: OpDescription, pair: SectionPair) -> str:
    """The canonical path and query of a pair: defaults left out, common parameters given once."""
    return f"/compare?{encoded_query(shortest_words(left, right, pair))}"


def shortest_words(left: OpDescription, right: OpDescription, pair: SectionPair) -> dict[str, str]:
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


def _fewest_words(name: str, values: list[str | None], usual: list[str | None]) -> dict[str, str]:
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


def _both(ops: dict[str, OpDescription], given: QueryWords, read: Callable[[str], Address]) -> dict[str, Address]:
    """What is read of each side; raises ``BadQuery``, which names the side if the other one has nothing against it."""
    found: dict[str, Address] = {}
    refused: dict[str, tuple[Refusal, ...]] = dict.fromkeys(SIDES, ())
    for side in SIDES:
        try:
            found[side] = read(side)
        except BadQuery as problem:
            refused[side] = problem.refusals
    elsewhere = {side: [each.parameter for each in refused[SIDES[1 - i]]] for i, side in enumerate(SIDES)}
    refusals = [
        _of_side(each, side, ops[side], f"{side}.{each.parameter}" in given, each.parameter in elsewhere[side])
        for side in SIDES
        for each in refused[side]
    ]
    if refusals:
        raise BadQuery.of(dict.fromkeys(refusals))
    return found


def _of_side(refusal: Refusal, side: str, op: OpDescription, own: bool, shared: bool) -> Refusal:
    """A refusal in the words of a pair: it names what is set for this side alone, or says where it does not hold."""
    if own:
        return Refusal(f"{side}.{refusal.parameter}", f"{side}.{refusal.sentence}")
    if shared:
        return refusal
    sentence = f"{refusal.sentence.removesuffix('.')} (on the {side}, where {op['title']} is)."
    return Refusal(refusal.parameter, sentence)


def _words_for(side: str, op: OpDescription, given: QueryWords) -> QueryWords:
    """The words of one side by itself, without its range."""
    own = {word.partition(".")[2]: text for word, text in given.items() if word.startswith(f"{side}.")}
    allowed = set(_words_of_side(op)).union(OF_BOTH).difference(SIDES, RANGE_NAMES)
    return {name: text for name, text in given.items() if name in allowed} | own


def _range(left: Address, right: Address, ops: dict[str, OpDescription]) -> tuple[float, float]:
    """The union of both ranges, within the bounds of a swept parameter."""
    asked = [left.question, right.question]
    limits = [swept_bounds(ops[side], question.wrt) for side, question in zip(SIDES, asked, strict=True)]
    start = max(min(each.start for each in asked), *(low for low, _ in limits))
    stop = min(max(each.stop for each in asked), *(high for _, high in limits))
    if start >= stop:
        names = " and ".join(str(each.wrt) for each in asked)
        reason = "so they cannot share an axis; sweep something else by wrt"
        raise BadQuery(f"{names} have no value in common, {reason}.", "wrt")
    return start, stop


def _check_name(word: str, allowed: list[str]) -> None:
    if word not in allowed:
        allowed = list(dict.fromkeys(allowed))
        raise BadQuery(
            f"{printable_excerpt(word)!r} is not a parameter of this address{suggestion(word, allowed)}", word
        )
