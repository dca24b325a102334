"""Two ops in one address: what it may say, its shortest form, and what is found to differ between them."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from html import unescape
from itertools import product
from typing import Any

import numpy as np
import pytest
from support.answers import answer

from gradloupe.ops import OPS
from gradloupe.server.catalogue.op_description import op_descriptions
from gradloupe.server.compare.chooser import SUGGESTED_PAIRS, chooser_context
from gradloupe.server.compare.controls import Controls, pair_controls
from gradloupe.server.compare.difference_sentences import difference_sentences
from gradloupe.server.compare.page import ComparedPair, pair_context
from gradloupe.server.compare.pair_query import SIDES, SectionPair, named_ops, pair_address, pair_words, read_pair
from gradloupe.server.compare.source_diff import aligned_lines, folded_docstrings, source_listings
from gradloupe.server.figure import static_figure
from gradloupe.server.figure.axis_range import common_axis_ranges
from gradloupe.server.protocol.frames import Frame
from gradloupe.server.protocol.question import Question
from gradloupe.server.url.parse import LARGEST_OF_DTYPE, BadQuery
from gradloupe.server.worker.answer import device_summary

DESCRIBED = {op["name"]: op for op in op_descriptions()}
DEVICE = device_summary()
CLAMPS = "left=clamp_with_grad&right=clamp_with_grad_that_works"
TWICE = "left=clamp_with_grad&right=clamp_with_grad"
PIXELS = "left=image_alpha&right=image_alpha"


def pair_of(query: str) -> tuple[dict[str, Any], dict[str, Any], SectionPair]:
    given = pair_words(query)
    ops = named_ops(DESCRIBED, given)
    return ops["left"], ops["right"], read_pair(ops["left"], ops["right"], DEVICE, given)


def shortest(query: str) -> str:
    return pair_address(*pair_of(query)).removeprefix("/compare?")


def framed(question: Question) -> Frame:
    header, columns = answer(question)
    return Frame(header, {name: memoryview(column) for name, column in columns.items()})


@cache
def both_of(query: str) -> ComparedPair:
    left, right, pair = pair_of(query)
    return ComparedPair((left, right), pair, (framed(pair.left.question), framed(pair.right.question)))


def told(query: str) -> str:
    return " ".join(both_of(query).words)


def changed(frame: Frame, **columns: np.ndarray[Any, Any]) -> Frame:
    """The same answer with other numbers in some of its columns."""
    return replace(frame, columns={**frame.columns, **{name: memoryview(each) for name, each in columns.items()}})


SHORTEST = [
    (CLAMPS, ""),
    (f"{CLAMPS}&min=-1&grad_output=1&count=401&left.max=1", ""),
    (f"{CLAMPS}&min=-2", "&min=-2"),
    (f"{CLAMPS}&left.min=-2&right.min=-2.0", "&min=-2"),
    (f"{CLAMPS}&left.min=-2", "&left.min=-2"),
    (f"{CLAMPS}&min=-2&right.min=-1", "&left.min=-2"),
    (f"{CLAMPS}&left.min=-2&right.min=-0.5", "&min=-0.5&left.min=-2"),
    (f"{CLAMPS}&right.grad_output=-1&right.dtype=float32", "&right.grad_output=-1&right.dtype=float32"),
    (f"{CLAMPS}&start=-3&stop=2&utm_source=mail&left.max=", "&stop=2"),
    (f"{CLAMPS}&layout=overlaid&theme=dark&order=2", "&order=2&layout=overlaid&theme=dark"),
    (f"{CLAMPS}&wrt=min", "&wrt=min"),
    (f"{TWICE}&right.min=-2", "&right.min=-2"),
    ("left=clipped_relu&right=sinh&left.clip=1", "&clip=1"),
    (f"{PIXELS}&a=0.5&right.wrt=a", "&a=0.5&right.wrt=a"),
]


@pytest.mark.parametrize(("query", "words"), SHORTEST)
def test_the_shortest_address_says_what_differs_from_the_defaults_and_says_it_once(query: str, words: str) -> None:
    ops = re.match(r"left=\w+&right=\w+", query)
    assert ops is not None
    assert shortest(query) == ops[0] + words


def test_an_address_in_its_shortest_form_asks_the_same() -> None:
    words = ("min=-2", "left.min=0.5", "right.min=-1", "right.max=2", "grad_output=-1", "left.wrt=max", "start=-1")
    for chosen in product((True, False), repeat=len(words)):
        query = "&".join([CLAMPS, *(word for word, there in zip(words, chosen, strict=True) if there)])
        found = shortest(query)
        assert pair_of(found)[2] == pair_of(query)[2]
        assert shortest(found) == found
        assert len(found) <= len(query)


REFUSED = [
    (f"{CLAMPS}&mni=1", "'mni'", "did you mean min?"),
    (f"{CLAMPS}&view=map", "'view'", "? Allowed: min, max, input"),
    (f"{CLAMPS}&left.mni=1", "'left.mni'", "did you mean left.min?"),
    (f"{CLAMPS}&right.start=1", "right.start", "write start alone"),
    (f"{CLAMPS}&min=abc", "min=abc", "plain digits"),
    (f"{CLAMPS}&right.min=abc", "right.min=abc", "plain digits"),
    (f"{CLAMPS}&right.min=9", "right.min=9", "from -3 to 3"),
    (f"{CLAMPS}&min=1&min=2", "min is given twice", "once"),
    (f"{CLAMPS}&start=2&stop=1", "start=2", "below stop"),
    (f"{CLAMPS}&left.dtype=float", "left.dtype=float", "float64"),
    (f"{CLAMPS}&count=1e9", "count=1e9", "whole number"),
    (f"{CLAMPS}&left=exp", "left is given twice", "once"),
    (f"{CLAMPS}&middle.min=1", "'middle.min'", "; allowed: "),
    ("left=nope&right=exp", "left=nope names no op", "/compare"),
    ("left=exp&right=sinhh", "right=sinhh names no op", "did you mean sinh?"),
    ("left=clipped_relu&right=image_alpha&wrt=a", "wrt=a names no element", "on the left, where Clipped ReLU is"),
    (f"{CLAMPS}&{'min=1&' * 4000}", "bytes", "leave defaults out"),
]


@pytest.mark.parametrize(("query", "culprit", "offer"), REFUSED)
def test_what_cannot_be_is_refused_in_a_sentence(query: str, culprit: str, offer: str) -> None:
    with pytest.raises(BadQuery) as refusal:
        pair_of(query)
    sentence = str(refusal.value)
    assert culprit in sentence
    assert offer in sentence
    assert sentence.endswith(".")
    assert len(sentence) < 400


def test_where_nothing_is_said_of_it_x_runs_over_what_both_would_show_alone() -> None:
    left, right, pair = pair_of("left=exp&right=image_alpha")
    alone = [tuple(left["inputs"][0]["domain"]), tuple(right["inputs"][1]["domain"])]
    ends = [(each.question.start, each.question.stop) for each in pair.both]
    assert ends == [(min(low for low, _ in alone), max(high for _, high in alone))] * 2 == [pair.usual] * 2
    _, _, given = pair_of("left=exp&right=image_alpha&stop=1")
    assert {(each.question.start, each.question.stop) for each in given.both} == {(pair.usual[0], 1.0)}


def test_a_parameter_that_is_swept_keeps_x_within_its_bounds() -> None:
    _, _, pair = pair_of("left=clamp_with_grad&right=image_alpha&left.wrt=min")
    assert pair.usual == (-3.0, 3.0)  # alone, the pixels would go from -6 to 6


def test_the_clamps_differ_where_the_sign_of_grad_output_says_so() -> None:
    assert told(CLAMPS).startswith(
        "forward is the same in both from −3 to 3. For grad_output 1 backward differs for input > 1: at input = "
    )
    negative = told(f"{CLAMPS}&grad_output=-1")
    assert "For grad_output −1 backward differs for input < −1: at input = " in negative
    assert "Clamp with grad returns −1, Clamp with grad that works 0." in negative
    assert "For Clamp with grad, and not for Clamp with grad that works, backward is not linear in grad" in negative
    assert "“differs by design” for Clamp with grad and “matches” for Clamp with grad that works" in negative


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("left=sinh&right=sinh_on_ctx", "For grad_output 1 backward returns the same in both."),
        ("left=clipped_relu&right=incorrect_clipped_relu", "backward differs for input ≤ 0 and for input ≥ 2:"),
        (f"{TWICE}&right.min=-2", "forward differs for input < −1:"),
        (f"{TWICE}&right.min=-2", "backward differs for −2 < input < −1:"),
        (f"{TWICE}&right.min=-2", "the left one returns 0, the right one 1"),
        (f"{TWICE}&right.grad_output=-1", "For grad_output 1 and −1 backward differs everywhere from −3 to 3:"),
        ("left=exp&right=exp&right.dtype=float32", "backward returns the same in both at the 17 values of x"),
        ("left=cube&right=square", "forward differs for x < 0, for 0 < x < 1 and for x > 1:"),
        (f"{CLAMPS}&wrt=min", "backward cannot be compared: Clamp with grad and Clamp with grad that works return no"),
        (f"{CLAMPS}&dtype=float16", "forward is the same in both"),
    ],
)
def test_what_differs_is_said_with_the_places(query: str, sentence: str) -> None:
    assert sentence in told(query)


def test_a_single_value_that_differs_is_found_and_noise_is_not_accused() -> None:
    left, _ = both_of(CLAMPS).answers or ()
    forward = np.array(left.columns["forward"])
    noisy = changed(left, forward=forward * (1 + 2**-50), analytical=np.array(left.columns["analytical"]) + 1e-13)
    assert difference_sentences(left, noisy, ("a", "b"))[:2] == [
        "forward is the same in both from −3 to 3.",
        "For grad_output 1 backward returns the same in both.",
    ]
    row = int(np.flatnonzero(np.array(left.columns["x"]) == 0.0)[0])
    forward[row] = np.nan
    assert difference_sentences(left, changed(left, forward=forward), ("a", "b"))[0] == (
        "forward differs at input = 0: there it is 0 in a, not a number in b."
    )


@pytest.mark.parametrize(
    ("query", "example"),
    [
        (CLAMPS, "differs for input > 1: at input = 2.1 "),
        (f"{CLAMPS}&grad_output=-1&min=-1.3&start=-1.6&stop=0", "differs for input < −1.3: at input = −1.5 "),
        ("left=exp&right=sinh", "forward differs everywhere from −2 to 2: at x = 2 it is"),
    ],
)
def test_the_example_lies_well_inside_of_what_differs_but_is_the_largest_difference(query: str, example: str) -> None:
    assert example in told(query)


def test_an_end_that_does_not_differ_is_never_the_example() -> None:
    left, right = both_of(CLAMPS).answers or ()
    x = np.array(left.columns["x"])
    x[np.searchsorted(x, 1.0, side="right")] = 1 + 1e-7  # written like the end beside it
    assert (
        "differs for input > 1: at input = 2.1 "
        in difference_sentences(changed(left, x=x), changed(right, x=x), ("a", "b"))[1]
    )


def test_more_stretches_than_can_be_told_are_counted() -> None:
    left, _ = both_of(CLAMPS).answers or ()
    slopes = np.array(left.columns["analytical"])
    slopes[10:-10:40] += 1
    assert re.search(
        r"differs in 10 stretches between −2\.85 and .*:",
        difference_sentences(left, changed(left, analytical=slopes), ("a", "b"))[1],
    )


def test_of_a_forward_that_failed_nothing_is_said_and_of_a_backward_that_failed_its_forward_is_compared() -> None:
    left, right = both_of(CLAMPS).answers or ()
    failure = {"phase": "forward", "kind": "ValueError", "message": "no", "line": 3}
    assert difference_sentences(left, Frame(right.header | {"failure": failure}), ("a", "b")) == [
        "b failed, so there is nothing to compare."
    ]
    found = told("left=one_gradient_too_few&right=exp")
    assert found.startswith("forward differs everywhere from −3 to 3:")
    assert "backward cannot be compared: that of One gradient too few failed." in found


def test_where_two_dtypes_have_few_x_in_common_it_is_said_how_many() -> None:
    assert "is the same in both at the 17 values of x that both have." in told("left=exp&right=exp&right.dtype=float16")
    left, right = both_of(CLAMPS).answers or ()
    moved = changed(right, x=np.array(right.columns["x"]) + 1e-3)
    assert difference_sentences(left, moved, ("a", "b")) == [
        "The two have no x in common, so there is nothing to compare; give both one dtype."
    ]


def fields(query: str) -> Controls:
    both = both_of(query)
    return pair_controls(both.ops, both.pair, both.query_words, tuple(LARGEST_OF_DTYPE))


def test_what_both_have_is_one_field_and_what_one_has_is_its_own() -> None:
    clamps = {each.name: each for each in fields(CLAMPS).every}
    assert clamps["min"].sides == clamps["grad_output"].sides == SIDES
    assert clamps["left.min"].usual == clamps["left.min"].value == ""
    other = {each.name: each for each in fields("left=clipped_relu&right=sinh").every}
    assert other["clip"].sides == ("left",)
    assert "right.clip" not in other
    assert {"left.input", "input", "x"} & other.keys() == {"input", "x"}


def test_the_fields_say_what_the_address_says() -> None:
    values = {each.name: each.value for each in fields(f"{CLAMPS}&min=-2&right.min=-0.5&left.wrt=max").every}
    assert (values["min"], values["left.min"], values["right.min"]) == ("-0.5", "-2", "")
    assert (values["wrt"], values["left.wrt"]) == ("input", "max")


def test_a_field_for_what_is_swept_on_both_sides_is_idle() -> None:
    idle = {name: [each.name for each in fields(name).moving if each.idle] for name in (CLAMPS, f"{CLAMPS}&wrt=min")}
    assert idle == {CLAMPS: ["input"], f"{CLAMPS}&wrt=min": ["min"]}
    assert not any(each.idle for each in fields(f"{CLAMPS}&left.wrt=min").moving if each.name == "min")


@pytest.mark.parametrize("names", [("clamp_with_grad", "clamp_with_grad_that_works"), ("sinh", "exp"), ("exp", "exp")])
def test_every_line_of_both_sources_stands_in_one_row_and_those_that_differ_are_marked(names: tuple[str, str]) -> None:
    sources = [OPS[name].source for name in names]
    found, folded = aligned_lines(*sources), [folded_docstrings(source) for source in sources]
    lines = [[None, *source.splitlines()] for source in sources]
    for side in (0, 1):
        hidden = {line for each in folded[side].values() for line in each.rest}
        assert [row[side] for row in found if row[side]] == [i for i in range(1, len(lines[side])) if i not in hidden]
    for one, other, same in found:
        explain = one in folded[0] and other in folded[1]
        assert same == (explain or lines[0][one or 0] == lines[1][other or 0])
    marked = [
        [int(at) for at in re.findall(r'"line differing" id="\w+-L(\d+)"', str(listing))]
        for listing in source_listings(*sources)
    ]
    assert marked == [
        [row[side] for row in found if not row[2] and (lines[side][row[side] or 0] or "").strip()] for side in (0, 1)
    ]


def test_a_source_that_was_cut_behind_blank_lines_is_listed_to_its_end() -> None:
    cut = "class Twice:\n    pass\n\n\n"
    for listing in source_listings(cut, OPS["exp"].source):
        assert 'id="' in str(listing)
    assert [each.count('<span class="line') for each in map(str, source_listings(cut, cut))] == [4, 4]


EXPLAINED = """class Twice(torch.autograd.Function):
    \"\"\"
    Twice its < input.

    {why}
    \"\"\"

    @staticmethod
    def forward(ctx, x):
        \"\"\"What {why}.\"\"\"
        return {factor} * x
"""


def test_docstrings_are_folded_and_never_marked() -> None:
    left, right = EXPLAINED.format(why="one", factor=2), EXPLAINED.format(why="two\n    three\n    four", factor=3)
    assert [row for row in aligned_lines(left, right) if not row[2]] == [(11, 15, False)]
    shown = str(source_listings(left, right)[0])
    assert shown.count("line differing") == 1
    assert re.findall(r'class="line docstring" id="left-L(\d+)"', shown) == ["2", "10"]
    assert '"""Twice its < input. …"""' in unescape(re.sub("<[^>]*>", "", shown))
    assert folded_docstrings("    no Python") == folded_docstrings("") == folded_docstrings('def f(): """All."""') == {}
    assert aligned_lines("a b", "a b\nc d") == [(1, 1, True), (None, 2, False)]


def test_both_still_pictures_have_the_same_axes() -> None:
    left, right = both_of(f"{TWICE}&right.grad_output=-2").answers or ()
    axes = common_axis_ranges((left, right))
    labels = [re.findall(r"<text y=[^>]*>([^<]*)", str(static_figure(each, "stacked", axes))) for each in (left, right)]
    assert labels[0] == labels[1]
    assert {"1", "−2"} <= set(labels[0])
    assert labels[0] != re.findall(r"<text y=[^>]*>([^<]*)", str(static_figure(left, "stacked")))


def test_of_what_failed_no_axis_is_shared() -> None:
    left, right = both_of(CLAMPS).answers or ()
    assert common_axis_ranges((left, Frame(right.header))) == common_axis_ranges((left,))
    assert common_axis_ranges((Frame(left.header),)) is None


def test_the_page_without_answers_says_what_it_is_about() -> None:
    both = replace(both_of(CLAMPS), answers=None)
    context = pair_context(both, DEVICE, "http://here")
    assert context["packed"] == ""
    assert context["social"].url == f"http://here/compare?{CLAMPS}"
    assert "Clamp with grad and Clamp with grad that works" in context["social"].description


def choice(query: str) -> dict[str, Any]:
    given = pair_words(query)
    return chooser_context(DESCRIBED, named_ops(DESCRIBED, given), given, "")


def test_the_choice_offers_pairs_that_there_are_and_keeps_what_is_asked() -> None:
    offered = choice("")["suggested"]
    assert len(offered) == len(SUGGESTED_PAIRS)
    for each in offered:
        pair_of(each["address"].removeprefix("/compare?"))
    chosen = choice("left=image_alpha&wrt=a&c=0.5&grad_output=-1")
    assert chosen["kept"] == {"left.wrt": "a", "left.c": "0.5", "grad_output": "-1"}
    assert all("left=image_alpha" in each["address"] for each in chosen["suggested"])
    with pytest.raises(BadQuery, match="min is for two ops"):
        choice("min=1")
    with pytest.raises(BadQuery, match="'mni'"):
        choice("left=clamp_with_grad&mni=1")
