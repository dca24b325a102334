"""Shapes that are said in words: in docstrings, comments, messages and annotations, such as ``x: [B, T, C]``."""

from __future__ import annotations

import ast
import inspect
import io
import re
import tokenize
from collections.abc import Iterator

from .name_binding import ReadingState
from .signature import Signature
from .written_values import Scope, written_value

# A size: a letter or a name, a number, or a sum or product of those; and what stands for any number of them.
_SIZE = r"(?:[A-Za-z]\w*|\d+)(?:\s*[-+*/]+\s*(?:[A-Za-z]\w*|\d+))*"
_ANY = r"\*|\.\.\.|…"
# Words in brackets that are no sizes.
_NO_SIZE = r"(?![^\])]*\b(?i:\w*tensor|optional|default|float\d*|int\d*|bool|str|callable|torch|list|tuple|none)\b)"
_SHAPE = rf"[\[(]{_NO_SIZE}\s*((?:{_SIZE}|{_ANY})(?:\s*,\s*(?:{_SIZE}|{_ANY}))*\s*,?)\s*[\])]"
_SHORT = re.compile(r"[A-Z]\w{0,3}$|[a-z]$|\d+$|[*….]+$")
_EXPECTED = re.compile(
    rf"(?i:expect\w*|required?|has to have|must have|of)\s+(?i:an?\s+)?(?i:input\s+)?(?i:shape)\W*{_SHAPE}"
)
# One shape of all that is named before it, within so many characters.
_EACH, _REACH = re.compile(rf"\b(?:each|both|all)(?: of| has| have)?(?: shape)?:? {_SHAPE}"), 60
_CROSS = r"\s*[x×]\s*"
# Sizes with a cross between them, as ``B x N x 3`` or ``BxNx3``, of which one is a letter.
_CROSSED = re.compile(
    r"[\[(]?(?<![\w.])(?=[\dx×\s]*[A-Z])"
    r"((?:[A-Z]\w{0,3}|\d+)(?:\s+[x×]\s+(?:[A-Z]\w{0,3}|\d+))+|[A-Z\d](?:[x×][A-Z\d])+)(?![\w.])[\])]?"
)
# So many values in a row, as ``the n - 1 values`` or ``of length nnz = 6``.
_COUNT = r"(?:[A-Za-z]|nnz|\d+)(?:\s*[-+]\s*\d+)?"
_COUNTED = re.compile(
    rf"\b(?:(?:the|of) )?({_COUNT}) (?:values|elements|entries|numbers)\b"
    rf"|\b(?:of )?length (?:nnz = (?=\d))?({_COUNT})(?![\w.]| ?[=×x])"
)
_SHAPED = 3.0  # the weight of a shape that is said: what has one is a tensor
_ANNOTATED = re.compile(r"""\[\s*[\w.]+\s*,\s*['"]([^'"]+)['"]\s*\]""")


def note_documented_shapes(signature: Signature, notes: ReadingState) -> None:
    """Note the number of dimensions of the arguments, and that those of one name have one size."""
    names = [each.name for each in signature.arguments if not each.star]
    sizes = dict[str, tuple[str, int]]()
    for name, shape, said in _said(signature, names):
        known = notes.arguments[name]
        if known.ranks and len(shape) not in known.ranks:
            continue
        if any(re.fullmatch(_ANY, each) for each in shape[1:]):
            known.at_least(len(shape) - 1, said)
            continue
        first = 0
        if re.fullmatch(_ANY, shape[0]):  # for these stands one dimension; those behind are counted from the last
            known.at_least(len(shape), said)
            first, shape = 1 - len(shape), shape[1:]
        elif not known.ranks:
            known.has_rank(len(shape), said)
        known.supports("tensor", _SHAPED, said)
        for place, size in enumerate(shape, first):
            if size.isdecimal():
                if 0 < int(size) <= 64:
                    notes.relations.fixed.setdefault((name, place), int(size))
            elif size in sizes:
                notes.relations.tie(sizes[size], (name, place), said)
            elif size.isidentifier():
                sizes[size] = name, place
            elif sizes.keys() >= set(re.findall(r"[A-Za-z]\w*", size)):
                _settle(size, (name, place), sizes, notes)
            else:
                sizes[size] = name, place


def _settle(size: str, place: tuple[str, int], sizes: dict[str, tuple[str, int]], notes: ReadingState) -> None:
    """Fix what a size such as ``W - 1`` is made of, and so that size."""
    fixed, usual = notes.relations.fixed, 4 if "/" in size else 5  # so that it can be halved
    known = {each: fixed.setdefault(sizes[each], usual) for each in re.findall(r"[A-Za-z]\w*", size)}
    number = written_value(ast.parse(size, mode="eval").body, Scope(ast.Module([], []), given=known))
    if isinstance(number, int) and number > 0:
        fixed.setdefault(place, number)


def _said(signature: Signature, names: list[str]) -> Iterator[tuple[str, list[str], str]]:
    """The arguments whose shape is said, with its sizes, and what says so."""
    for each in signature.arguments:
        if each.name in names and (written := _ANNOTATED.search(each.annotation)):
            yield each.name, written[1].split(), f"its annotation is {each.annotation}"
    # Several names may stand before one shape, and before the shape what the numbers are, as in "(x, y), shape (N, 2)".
    others = rf"((?:\s*(?:,|/|&|\band\b)\s*`?(?:{'|'.join(map(re.escape, names))})\b`?)*)"
    between = r"((?:[^.;\n]|\.(?=\w)){0,60}?)"
    for text in map(_with_brackets, texts_of(signature)):
        for name in names:
            named = rf"(?<![\w.]){re.escape(name)}`?(?![\w.(\[]){others}{between}"
            spoken_of = (rf"{named}(?<=\)), (?:of )?shape:? {_SHAPE}", named + _SHAPE)
            for found in (each for pattern in spoken_of for each in re.finditer(pattern, text)):
                sizes = _own_sizes(name, found, text)
                spoken = "shape" in found[0].rpartition(found[3])[0] or re.fullmatch(
                    r"[\s:=`]*(?:is|are|has|of)?\s*(?:\([^)]*\)\s*:?)?\s*(?:(?<=: )(?:[a-z-]+ ){1,3})?", found[2]
                )
                if (
                    sizes
                    and spoken
                    and not any(re.search(rf"\b{re.escape(one)}\b", found[2]) for one in names if one != name)
                ):
                    yield name, sizes, f"“{' '.join(found[0].split())}” is said of it"
                    break
        for found in _EACH.finditer(text):
            before = text[max(0, found.start() - _REACH) : found.start()].rpartition(". ")[2]
            if sizes := _sizes(found[1]):
                said = f"“{' '.join(found[0].split())}” is said of it"
                yield from ((one, sizes, said) for one in names if re.search(rf"(?<![\w.]){re.escape(one)}\b", before))
        for found in _EXPECTED.finditer(text) if names else ():
            sizes = _sizes(found[1])
            if sizes and not any(
                re.search(rf"\b{re.escape(one)}\b", text[max(0, found.start() - 40) : found.start()]) for one in names
            ):
                yield names[0], sizes, f"“{' '.join(found[0].split())}” is said"


def _with_brackets(text: str) -> str:
    """The text with shapes in brackets that are written with crosses or counted."""
    text = _COUNTED.sub(lambda found: f"({found[1] or found[2]},)", text)
    return _CROSSED.sub(lambda found: f"({', '.join(re.split(_CROSS, found[1]))})", text)


def _own_sizes(name: str, found: re.Match[str], text: str) -> list[str]:
    """The sizes of a name before some shapes: each its own, where there are as many as names, or all the first."""
    before = re.search(r"((?:[A-Za-z_]\w*`?\s*(?:,|/|&|\band\b)\s*`?)*)$", text[: found.start()])
    place = len(re.findall(r"[A-Za-z_]\w*`?\s*(?:,|/|&|\band\b)", before[1])) if before else 0
    count = place + 1 + len(re.findall(r",|/|&|\band\b", found[1]))
    shapes = [found[3]]
    end = found.end()
    while following := re.compile(rf"\s*(?:,|/|&|and)\s*{_SHAPE}").match(text, end):
        shapes.append(following[1])
        end = following.end()
    return _sizes(shapes[place] if len(shapes) == count else shapes[0])


def _sizes(text: str) -> list[str]:
    """The sizes of a shape; none where these are other words in brackets."""
    sizes = [each.strip() for each in text.rstrip(" ,").split(",")]
    plain = all(_SHORT.match(each.split()[0]) for each in sizes) or "," in text
    return sizes if plain else []


def texts_of(signature: Signature) -> Iterator[str]:
    """The docstrings, and the comments and strings in the source of each method."""
    yield from signature.docstrings
    for method in signature.methods.values():
        try:
            source = inspect.getsource(method)
            tokens = list(tokenize.generate_tokens(io.StringIO(inspect.cleandoc(source)).readline))
        except (OSError, TypeError, tokenize.TokenError, SyntaxError, IndexError):
            continue
        yield from (each.string for each in tokens if each.type in (tokenize.COMMENT, tokenize.STRING))
