"""Values that are said in words: in docstrings, comments and messages, such as ``A: a symmetric matrix``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..recipe.recipe import SQUARE_FILLS, Fill
from .documented_shapes import texts_of
from .name_binding import ReadingState
from .signature import Signature

# What may be said of values, the narrowest first, and the fill of such ones.
_WORDS: tuple[tuple[str, Fill], ...] = (
    (r"positive[- ](?:semi[- ]?)?definite|\bs?psd\b|\bspd\b|covariance matri(?:x|ces)", "spd"),
    (r"symmetric\b|self[- ]adjoint", "symmetric"),
    (r"orthogonal\b|orthonormal|rotation matri(?:x|ces)", "orthogonal"),
    (
        r"unit[- ](?:norm|length|vectors?|quaternions?)|l2[- ]normali[sz]ed|(?:norm|length)s? (?:of )?(?:1|one)\b",
        "unit",
    ),
    (r"one[- ]?hot", "onehot"),
    (
        r"sum(?:s|ming)?(?: up)? to (?:1\b|one\b|unity)|marginals?\b|histograms?\b|probability vectors?",
        "marginal",
    ),
    (r"(?:pre)?sorted\b|ascending|(?:in|of) increasing\b|(?:strictly|monotonically) increasing (?!func)", "rising"),
    (r"binary (?:masks?|labels?|targets?|matri\w+|tensors?|vectors?)|either 0 or 1\b|\{0, ?1\}", "binary"),
    (r"[-−]1 (?:or|and) \+?1\b|\+1 (?:or|and) [-−]1\b|±\s?1\b|\{[-−]1, ?\+?1\}", "signs"),
    (r"\bprobabilities\b|\bcosts?\b|non[- ]?negative|in [\[(]0, ?1[\])]", "positive"),
    (r"(?:\b(?:be|is|are)|:) (?:strictly )?positive\b", "positive"),
)
# What is said of shapes without sizes: the number of dimensions. Of several there may be batches.
_RANKS = ((r"matrix\b", 2), (r"vector\b", 1))
# What is said of dtypes, and the kind of such a tensor.
_DTYPES = (
    (r"\bu?int(?:8|16|32|64)\b|\b(?:long|int|integer)[- ]?tensors?\b|\btensors? of (?:longs|ints|integers)\b", "index"),
    (r"\binteger (?:labels|indices|targets|classes)\b|\bclass indices\b", "index"),
    (r"\bbool(?:ean)?[- ]?tensors?\b|\bboolean masks?\b|\btensors? of bool(?:ean)?s\b", "mask"),
)
_SAID_OF_DTYPE = 6.0  # the weight of a dtype that is said
_TAKEN_BACK = re.compile(
    r"(?:\b(?:log|skew|not|any|arbitrary|necessarily|need not be)[- ]+|un|anti|a|non[- ]?)$", re.IGNORECASE
)
# Of what a word is said that no argument's name stands beside: where it is taken, and where it comes out.
_TAKEN = re.compile(
    r"\b(?:of|for|takes?|expects?|requires?|needs?|inputs?|be|is|are)(?: (?:an?|the|batch(?:es)? of|real|square))*\W*$",
    re.IGNORECASE,
)
_GIVEN_BACK = re.compile(
    r"\b(?:returns?|outputs?|results?|yields?|produces?|gives|gradients?|onto|into|becomes?)\b", re.IGNORECASE
)
# Names that are words of English as well are followed by what a word is not.
_ENGLISH = re.compile(r"^(?:a|an|i|in|is|of|to|at|on|as|by|it)$")
_REACH = 70  # characters behind a name, in which a word is said of it


# Bounds of a number, as in "alpha > 1" or "0 <= p < 1", and as an interval, as in "rate in (0, 1]".
_NUMBER = r"[-−+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]*\w)"
_ORDER = r"<=?|>=?|≤|≥"


def note_documented_bounds(signature: Signature, notes: ReadingState) -> None:
    """Note the bounds that a docstring sets to what is a number by its default."""
    numbers = [each.name for each in signature.arguments if type(each.default) in (int, float)]
    for text in signature.docstrings:
        for name in numbers:
            known, named = notes.arguments[name], rf"(?<![\w.]){re.escape(name)}`*"
            for found in re.finditer(rf"{named} (?:is |lies |must be )?in [\[(]({_NUMBER}), *({_NUMBER})[\])]", text):
                known.bounded_by(_float(found[1]), _float(found[2]))
            for order, number in re.findall(rf"{named} (?:is |must be )?({_ORDER}) *({_NUMBER})", text):
                known.bounded_by(*_bounds(order, _float(number)))
            for number, order in re.findall(rf"({_NUMBER}) *({_ORDER}) *`*{named}", text):
                known.bounded_by(*reversed(_bounds(order, _float(number))))


def _float(number: str) -> float:
    return float(number.replace("−", "-"))


def _bounds(order: str, number: float) -> tuple[float | None, float | None]:
    """The lower and the upper bound of what stands before a number in this order."""
    return (number, None) if order[0] in ">≥" else (None, number)


def note_documented_values(signature: Signature, notes: ReadingState) -> None:
    """Note what the values of an argument are said to be: the narrowest, and the words for it."""
    names = [each.name for each in signature.arguments if not each.star]
    needed = [each.name for each in signature.arguments if each.required and not each.star]
    for text in texts_of(signature):
        for sentence in _sentences(text, names):
            for words, fill in _WORDS:
                for said in re.finditer(words, sentence, re.IGNORECASE):
                    for name in _meant(sentence, said, names, needed):
                        _note(notes, name, fill, said[0])
            for words, rank in _RANKS:
                for said in re.finditer(words, sentence, re.IGNORECASE):
                    for name in _meant(sentence, said, names, []):
                        sure = not notes.arguments[name].ranks
                        notes.arguments[name].has_rank(rank, f"“{said[0]}” is said of it", sure)
            for words, kind in _DTYPES:
                for said in re.finditer(words, sentence, re.IGNORECASE):
                    for name in _meant(sentence, said, needed, [])[-1:]:  # each name has a dtype of its own
                        notes.arguments[name].supports(kind, _SAID_OF_DTYPE, f"“{said[0]}” is said of it")


def _note(notes: ReadingState, name: str, fill: Fill, said: str) -> None:
    known, order = notes.arguments[name], [each for _, each in _WORDS]
    if known.told and order.index(known.told[0]) <= order.index(fill):
        return
    known.told = fill, said
    if fill == "positive":  # a number may be so, too
        return
    known.supports("tensor", 3.0, f"“{said}” is said of it")
    known.square = known.square or fill in SQUARE_FILLS
    known.at_least(2 if fill in SQUARE_FILLS else 1, f"“{said}” is said of it")


def _sentences(text: str, names: list[str]) -> Iterator[str]:
    """The sentences of a text, those of a list of arguments each by itself; a message says what has to be."""
    named = "|".join(map(re.escape, names)) or "(?!)"
    for each in re.split(rf"[.;](?:\s|$)|\n\s*\n|\n(?=\W*(?:param\s+)?(?:{named})\b\W?\s*(?:\([^)]*\))?\s*:)", text):
        sentence = " ".join(each.split())
        yield re.sub(r"\b(is|are)(?: not|n't)\b", r"\1", sentence) if text[:1] in "\"'f" else sentence


def _meant(sentence: str, said: re.Match[str], names: list[str], needed: list[str]) -> list[str]:
    """The arguments that a word is said of: those behind it, else the last ones before it, else the only one."""
    before, behind = sentence[: said.start()], sentence[said.end() :]
    if _TAKEN_BACK.search(before) or _GIVEN_BACK.search(before):
        return []
    several = _several(names)
    if following := re.match(rf"(?:[- ]\w+)??(?: (?!{several})\w+){{0,3}}? ({several})", behind):
        return _names_in(following[1], names)
    groups = list(re.finditer(several, before))
    if groups:
        return _names_in(groups[-1][0], names) if said.start() - groups[-1].end() <= _REACH else []
    alone = len(needed) == 1 and not re.search(several, behind) and _TAKEN.search(before)
    return needed if alone else []


def _several(names: list[str]) -> str:
    """A pattern of some names, one behind the other."""
    one = "|".join(
        rf"{re.escape(each)}(?=`|\s*[:(=,]| is\b| are\b| and\b| has\b)" if _ENGLISH.match(each) else re.escape(each)
        for each in sorted(names, key=len, reverse=True)
    )
    name = rf"(?<![\w.])(?:{one})(?!\w)"
    shape = r"(?::? ?[\[(][\w\s,+*-]*[\])])?"
    return rf"`*{name}`*{shape}(?:(?:,| and| or| &|/)+ *`*{name}`*{shape})*"


def _names_in(text: str, names: list[str]) -> list[str]:
    return [each for each in names if re.search(rf"(?<![\w.]){re.escape(each)}(?!\w)", text)]
