"""Evidence that an argument holds complex numbers: how the source uses it, its annotation, its name, the docstring.

What calls a result complex, or a pair of real numbers, says nothing of the argument.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .evidence import ArgumentEvidence
from .signature import Signature, SignatureArgument

# What is asked of a tensor, as an attribute or by a function of torch, where it may be complex.
COMPLEX_USES = {"real", "imag", "conj", "conj_physical", "is_complex", "view_as_real"}

_NAME = re.compile(r"(^|_)(complex|cplx)(_|$)")
_ANNOTATION = re.compile(r"complex|\bc(64|128)\b", re.IGNORECASE)
_NUMBERS = r"(tensor|number|input|argument|vector|matrix|matrice|array|value|signal)"
_OF_COMPLEX = re.compile(
    rf"\b(of|takes?|accepts?|for|on)\s+(\w+\s+){{0,2}}complex([- ]valued)?\s+{_NUMBERS}(?P<all>e?s)?\b|"
    r"\bcomplex([- ]valued)?\s+input(?P<inputs>s)?\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[.;]\s|\n\s*\n")
_NOT_BEFORE = r"(?<!\bno )(?<!\bnot )(?<!\bnever )"
_OTHERWISE = re.compile(r"\b(not?|never|neither|un\w+|pairs?|channels?|stacked|dimension|real)\b|n't\b", re.IGNORECASE)


def note_complex(signature: Signature, known: dict[str, ArgumentEvidence]) -> None:
    """Note why arguments hold complex numbers; a reason that the source gave before stays."""
    for each in signature.arguments:
        if each.name in known and not known[each.name].complex:
            known[each.name].complex = _written(each)
    for name, reason in _documented(signature, known):
        known[name].complex = known[name].complex or reason


def _written(argument: SignatureArgument) -> str:
    if _ANNOTATION.search(argument.annotation):
        return f"its annotation is {argument.annotation}"
    return "its name says so" if _NAME.search(argument.name.lower()) else ""


def _documented(signature: Signature, known: dict[str, ArgumentEvidence]) -> Iterator[tuple[str, str]]:
    """The arguments that a docstring calls complex: by their names, or else the first, or all where it says so."""
    swept = [name for name, one in known.items() if one.differentiable is not False]
    for text in signature.docstrings:
        for sentence in map(" ".join, map(str.split, _SENTENCE.split(text))):
            said = f"the docstring says “{sentence[:60]}”"
            directly = [
                name
                for name in swept
                if re.search(rf"{_NOT_BEFORE}\bcomplex([- ]valued)? `*{re.escape(name)}\b", sentence)
            ]
            if directly or _OTHERWISE.search(sentence):
                yield from ((name, said) for name in directly)
                continue
            named = [
                name for name in swept if re.search(rf"\b{re.escape(name)}\b\W+(\w+\W+){{0,2}}complex\b", sentence)
            ]
            general = _OF_COMPLEX.search(sentence)
            if general and not named:
                named = swept if general["all"] or general["inputs"] else swept[:1]
            yield from ((name, said) for name in named)
