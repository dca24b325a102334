"""The contents of the gallery: the tour, the groups and their order, and the keywords that its search box matches."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

from ..schema.op import OpStub, ThumbnailCurves

_WORD = re.compile(r"[\w’-]+")
_Op = TypeVar("_Op", bound=OpStub)


def search_keywords(shown: str, *texts: str) -> str:
    """The search words of a card: those of ``texts`` that are not in ``shown``, in lower case, unique, sorted."""
    seen = shown.lower()
    return " ".join(sorted({word for text in texts for word in _WORD.findall(text.lower()) if word not in seen}))


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
    "Specimens": "Broken on purpose, each in one way. Next to the verdict is the check of the "
    "contract that finds it: some are wrong where no curve can show it."
}
# The first ops of their groups; the others follow by title.
_FIRST = (
    *("double", "exp", "clipped_relu", "incorrect_clipped_relu", "clamp_with_grad", "clamp_with_grad_that_works"),
    *("relu", "round_straight_through", "replace_grad", "heaviside_sigmoid", "dorefa", "swish", "gradient_reversal"),
    *("kill_head", "softmax", "image_alpha", "functional_linear", "square", "cube", "sinh", "sinh_on_ctx"),
    *("numpy_cube", "gradient_changed_in_place"),
)


@dataclass(frozen=True)
class TourStop:
    """One stop of the tour: an address, a title, and what to do there."""

    address: str
    title: str
    said: str


TOUR_STOPS = (
    TourStop(
        "/compare?left=clipped_relu&right=incorrect_clipped_relu",
        "Clipped ReLU, with and without its mask",
        "Same forward, different gradients. Drag clip.",
    ),
    TourStop(
        "/compare?left=clamp_with_grad&right=clamp_with_grad_that_works",
        "Is this clamp wrong?",
        "Flip the sign of grad_output, on both at once.",
    ),
    TourStop("/ops/round_straight_through", "Straight through the stairs", "A gradient where the slope is 0."),
    TourStop("/ops/replace_grad", "The value of one, the gradient of another", "Sweep either of the two tensors."),
    TourStop("/ops/heaviside_sigmoid", "What stands in for a spike", "Drag alpha to see how far the gradient reaches."),
    TourStop("/ops/kill_head?view=jacobian", "A matrix, element by element", "Every output by every input."),
    TourStop("/ops/abs_product?view=surface", "Two inputs, one surface", "The gradient field that backward returns."),
    TourStop(
        "/ops/image_alpha?of=alpha", "Two outputs, one backward", "The gradient depends on which output the loss uses."
    ),
    TourStop(
        "/compare?left=sinh&right=sinh_on_ctx&order=2",
        "The second derivative that is not there",
        "Equal first derivatives, different second ones.",
    ),
    TourStop(
        "/ops/gradient_changed_in_place?view=contract",
        "A bug that no error reports",
        "The contract, checked line by line.",
    ),
)


def available_tour(ops: Mapping[str, Any]) -> tuple[TourStop, ...]:
    """The stops all of whose ops exist."""
    return tuple(stop for stop in TOUR_STOPS if all(name in ops for name in _names(stop)))


class GalleryCard(OpStub):
    """An op in the gallery, with its sparkline and the word of its verdict."""

    thumbnail: ThumbnailCurves
    word: str


def cards_by_group(cards: Iterable[_Op]) -> list[tuple[str, list[_Op]]]:
    """The cards by group; unknown groups, which are those of the visitor's own file, come first.

    The visitor's own are in the order of the file, the others by title.
    """

    def place(op: OpStub) -> tuple[int, str, int, str]:
        title = "" if op["own"] else op["title"].lower()
        return _place(GALLERY_GROUPS, op["group"]), op["group"], -_rank(op), title

    order = sorted(cards, key=place)
    return [(group, list(members)) for group, members in groupby(order, key=lambda op: str(op["group"]))]


def _rank(op: OpStub) -> int:
    """The priority of an op within its group; 0 for one that is sorted by title."""
    return len(_FIRST) - _FIRST.index(op["name"]) if op["name"] in _FIRST else 0


def _place(order: tuple[str, ...], name: str) -> int:
    return order.index(name) if name in order else -1


def _names(stop: TourStop) -> Iterator[str]:
    """The ops that a stop shows."""
    place = urlsplit(stop.address)
    if place.path.startswith("/ops/"):
        yield place.path.removeprefix("/ops/")
    for side in ("left", "right"):
        yield from parse_qs(place.query).get(side, ())
