"""The contents of the gallery: the groups and their order, and what of a card a search reads."""

from collections.abc import Iterable
from itertools import groupby
from typing import TypeVar

from ..schema.op import OpStub, ThumbnailCurves
from ..schema.verdict_words import verdict_name
from .search import SearchedCard

_Op = TypeVar("_Op", bound=OpStub)


GALLERY_GROUPS = (
    "A first look",
    "Clamps and ReLUs",
    "Straight-through and surrogates",
    "Quantisers",
    "Activations",
    "Gradient shaping",
    "Vectors and matrices",
    "Several inputs and outputs",
    "Second derivatives",
    "NumPy and other code autograd cannot see",
    "Specimens",
)
GROUP_NOTES = {
    "Specimens": "Bugs, each kept to show what it looks like. Next to the verdict is the check of the "
    "contract that finds it: some are wrong where no curve can show it."
}
# The first ops of their groups; the others follow by title.
_FIRST = (
    *("double", "exp", "clipped_relu", "incorrect_clipped_relu", "clamp_with_grad", "clamp_with_grad_that_works"),
    *("relu", "round_straight_through", "replace_grad", "heaviside_sigmoid", "dorefa", "swish", "gradient_reversal"),
    *("kill_head", "softmax", "image_alpha", "functional_linear", "square", "cube", "sinh", "sinh_on_ctx"),
    *("numpy_cube", "gradient_changed_in_place"),
)


_WRONG = " bug wrong mistake incorrect error"  # what one may call a specimen
HERO = "clamp_with_grad"  # the Function that can be touched on the first screen


class GalleryCard(OpStub):
    """An op in the gallery, with its sparkline and the word of its verdict."""

    thumbnail: ThumbnailCurves
    word: str


def searched_card(card: GalleryCard) -> SearchedCard:
    """The words of a card: group, name, claim and verdict are its keywords, prose and source its text."""
    keywords = f"{card['group']} {card['name'].replace('_', ' ')} {card['claim']} {card['word']} {card['check']}"
    keywords += f" {verdict_name(card['word'], card['claim'])}"
    keywords += _WRONG * (card["claim"] == "broken")
    return SearchedCard(card["name"], card["title"], keywords, f"{card['doc']} {card['reference']}")


def cards_by_group(cards: Iterable[_Op]) -> list[tuple[str, list[_Op]]]:
    """The cards by group; unknown groups, which are those of the visitor's own file, come first.

    The visitor's own are in the order of the file, the others by title.
    """

    def place(op: OpStub) -> tuple[int, str, int, str]:
        name, group, title = op["name"], op["group"], "" if op["own"] else op["title"].lower()
        rank = len(_FIRST) - _FIRST.index(name) if name in _FIRST else 0
        return GALLERY_GROUPS.index(group) if group in GALLERY_GROUPS else -1, group, -rank, title

    order = sorted(cards, key=place)
    return [(group, list(members)) for group, members in groupby(order, key=lambda op: str(op["group"]))]
