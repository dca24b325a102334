"""The context and the JSON document of the page of a pair, and the context of the page on which it is chosen."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from ..documents.json_document import exact_document, script_json
from ..documents.typography import with_minus_sign
from ..figure.axes import common_axis_ranges
from ..figure.inline_svg import static_figure
from ..figure.legend import legend
from ..figure.scene import Scene, build_scene
from ..html.gallery import cards_by_group
from ..html.pages import Pages, page_document
from ..html.social_tags import SocialTags
from ..protocol.answer import CurvesAnswer
from ..schema.op import DeviceSummary, OpDescription, OpStub
from ..url.address import LAYOUTS, canonical_address, curves_only, query_values, with_range, without_display_options
from ..url.numbers import BadQuery, write_number
from ..url.parse import LARGEST_OF_DTYPE, QueryWords
from .controls import pair_controls
from .difference_sentences import difference_sentences
from .pair_query import OF_BOTH, RANGE_NAMES, SIDES, SectionPair, check_query_words, pair_address, shortest_words
from .source_diff import source_listings

_SAME_OP_NAMES = ("the left one", "the right one")
_OPTIONAL = tuple(name for name in OF_BOTH if name not in ("order", "layout"))  # fields that are empty by default


@dataclass(frozen=True)
class ComparedPair:
    """Two ops, their sections, and their answers, None while they are being measured."""

    ops: tuple[OpDescription, OpDescription]
    pair: SectionPair
    answers: tuple[CurvesAnswer, CurvesAnswer] | None

    @property
    def address(self) -> str:
        return pair_address(*self.ops, self.pair)

    @property
    def swapped(self) -> str:
        """The address of the same with left and right exchanged."""
        left, right = self.ops
        return pair_address(right, left, SectionPair(self.pair.right, self.pair.left, self.pair.usual))

    @property
    def query_words(self) -> dict[str, str]:
        return shortest_words(*self.ops, self.pair)

    @property
    def title(self) -> str:
        left, right = (op["title"] for op in self.ops)
        return f"{left} vs. itself" if self.ops[0] is self.ops[1] else f"{left} vs. {right}"

    @cached_property
    def scenes(self) -> tuple[Scene, ...]:
        """Both figures, on common axes; none before both are measured."""
        held, layout = common_axis_ranges(self.answers or ()), self.pair.left.layout
        return tuple(build_scene(answer, layout, held) for answer in self.answers or ())

    @cached_property
    def words(self) -> list[str]:
        """The differences, in sentences; none before both are measured."""
        if self.answers is None:
            return []
        left, right = (op["title"] for op in self.ops)
        return difference_sentences(*self.answers, _SAME_OP_NAMES if left == right else (left, right))

    def alone(self, side: int) -> str:
        """The address of one of the two by itself."""
        return canonical_address(self.ops[side], without_display_options(curves_only(self.pair.both[side])))

    def own(self, side: str) -> str:
        """What is set for one of the sides only, with the value it has on this one, as text."""
        values = query_values(self.pair.both[SIDES.index(side)])
        names = dict.fromkeys(word.partition(".")[2] for word in self.query_words if "." in word)
        return ", ".join(f"{name} = {with_minus_sign(values[name])}" for name in names if values.get(name))

    def document(self, pages: Pages | None = None) -> dict[str, Any] | None:
        """The documents of both and the sentences about them; None before they are measured.

        ``pages`` adds the verdicts as HTML, with which a page is brought up to date.
        """
        if self.answers is None:
            return None
        sides = dict[str, dict[str, Any]]()
        for i, (side, answer, drawn) in enumerate(zip(SIDES, self.answers, self.scenes, strict=True)):
            exact = exact_document(answer, self.alone(i))
            sides[side] = {**page_document(answer, exact, drawn), "own": self.own(side)}
            if pages is not None:
                sides[side]["words"] = pages.words(exact, ("verdict",))
        shared = {
            "address": self.address,
            "swapped": self.swapped,
            "words": self.words,
            "usual": _span_words(self.pair),
        }
        return shared | sides


def pair_context(both: ComparedPair, device: DeviceSummary, base: str) -> dict[str, Any]:
    """The context of the template; ``base`` is the origin of the site."""
    words, document = both.query_words, both.document()
    fields = pair_controls(both.ops, both.pair, words, tuple(LARGEST_OF_DTYPE))
    layout = both.pair.left.layout
    usual = dict.fromkeys(SIDES, "") | {each.name: each.usual for each in fields.every} | dict.fromkeys(_OPTIONAL, "")
    description = " ".join(both.words[:2]) or f"What differs between {both.ops[0]['title']} and {both.ops[1]['title']}."
    return {
        "device": device,
        "title": both.title,
        "told": both.words,
        "swapped": both.swapped,
        "address": both.address,
        "controls": fields,
        "values": {name: words.get(name, "") for name in _OPTIONAL}
        | {"layout": layout, "order": words.get("order", "1")},
        "usual": usual | {"layout": LAYOUTS[0], "order": "1"},
        "ends": _span_words(both.pair),
        "theme": both.pair.left.theme,
        "question": {"order": both.pair.left.question.order},
        "still": document is not None,
        "packed": "" if document is None else script_json(document),
        "sides": [_side(both, i) for i in range(len(SIDES))],
        "social": SocialTags(base + both.address, both.title, description, "noindex, follow"),
    }


def _side(both: ComparedPair, i: int) -> dict[str, Any]:
    name, layout, asked = SIDES[i], both.pair.left.layout, both.pair.both[i].question
    drawn = both.scenes[i] if both.scenes else None
    question: Any = asdict(asked) | {"wrt": str(asked.wrt), "of": str(asked.of), "layout": layout}
    return {
        "name": name,
        "op": both.ops[i],
        "own": both.own(name),
        "answer": None if both.answers is None else exact_document(both.answers[i], both.alone(i)),
        "question": question,
        "around": legend(drawn.whole if drawn else None, question),
        "still": static_figure(drawn) if drawn else "",
        "alone": both.alone(i),
        "elsewhere": lambda span: pair_address(*both.ops, _with_range(both.pair, span)),
        "source": _listings(both)[i],
    }


def _listings(both: ComparedPair) -> tuple[Markup, Markup]:
    """The two sources; those of a visitor's own Functions with the line numbers of the file."""
    left, right = both.ops
    first = [op["first_line"] if op["own"] else 1 for op in both.ops]
    return source_listings(left["source"], right["source"], (first[0], first[1]))


def _span_words(pair: SectionPair) -> dict[str, str]:
    return dict(zip(RANGE_NAMES, map(write_number, pair.usual), strict=True))


def _with_range(pair: SectionPair, span: tuple[float, float]) -> SectionPair:
    return replace(pair, left=with_range(pair.left, span), right=with_range(pair.right, span))


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
