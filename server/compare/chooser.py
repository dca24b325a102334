"""The context of the page on which two ops are chosen: all ops by group, and suggested pairs."""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from ..html.gallery import cards_by_group
from ..html.social_tags import SocialTags
from ..schema.op import OpDescription, OpStub
from ..url.numbers import BadQuery
from ..url.parse import QueryWords
from .pair_query import SIDES, check_query_words

_TITLE = "Two Functions side by side"
_SAID = (
    "Choose two Functions, or one twice: their curves stand side by side, on the same axes, under the same controls."
)
# Instructive pairs by name, with what they show; those whose ops exist are suggested.
SUGGESTED_PAIRS = (
    ("clamp_with_grad", "clamp_with_grad_that_works", "one forward, and two answers to what lies outside the range"),
    ("clipped_relu", "incorrect_clipped_relu", "a mask, and what happens without it"),
    ("sinh", "sinh_on_ctx", "the same gradient, but only one can be differentiated again"),
    ("round_straight_through", "sign_straight_through", "two steps that let the gradient through"),
    ("heaviside_sigmoid", "heaviside_triangle", "one step, and two surrogates for it"),
    ("relu", "leaky_relu", "what a negative input gets"),
)


def chooser_context(
    ops: Mapping[str, OpStub], chosen: dict[str, OpDescription], given: QueryWords, base: str
) -> dict[str, Any]:
    """The context of the template; the query may name one op already, which is ``chosen``, and parameters of it.

    Raises ``BadQuery`` for parameters without an op.
    """
    if not chosen and (over := [word for word in given if word not in SIDES]):
        raise BadQuery(f"{over[0]} is for two ops, and none is named; choose them with left=… and right=….", over[0])
    check_query_words(chosen, given)
    return {
        "title": _TITLE,
        "said": _SAID,
        "groups": cards_by_group(ops.values()),
        "chosen": {side: given.get(side, "") for side in SIDES},
        "kept": dict(_kept(chosen, given)),
        "suggested": list(_suggested(ops, chosen)),
        "social": SocialTags(f"{base}/compare", _TITLE, _SAID, "noindex, follow"),
    }


def _kept(chosen: dict[str, OpDescription], given: QueryWords) -> Iterator[tuple[str, str]]:
    """The parameters to keep; those that only the chosen op has get the prefix of its side."""
    for word, text in given.items():
        for side, op in chosen.items():
            if word in ("of", "wrt", *(each["name"] for each in op["inputs"])):
                yield f"{side}.{word}", text
                break
        else:
            if word not in SIDES:
                yield word, text


def _suggested(ops: Mapping[str, OpStub], chosen: dict[str, OpDescription]) -> list[dict[str, str]]:
    """Pairs to suggest, with titles and address: those with the chosen op, or the instructive ones."""
    pairs = [(left, right, said) for left, right, said in SUGGESTED_PAIRS if left in ops and right in ops]
    first = next(iter(chosen.values()), None)
    if first is not None:
        name = first["name"]
        known = [(name, right if left == name else left, said) for left, right, said in pairs if name in (left, right)]
        others = [each["name"] for each in ops.values() if each["group"] == first["group"]]
        kin = [(name, other, "") for other in others if other not in (name, *(right for _, right, _ in known))]
        pairs = known + kin
    return [
        {
            "left": ops[left]["title"],
            "right": ops[right]["title"],
            "said": said,
            "address": f"/compare?left={quote(left)}&right={quote(right)}",
        }
        for left, right, said in pairs
    ]
