"""Two ops side by side: what is asked of both, what is refused, what is said of them, and what the page shows."""

import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from html.parser import HTMLParser
from itertools import product
from typing import Any

import pytest
from support import http
from support.halted_worker import halted
from support.own_server import Own, showing
from support.servers import serving_in_thread

from gradloupe.ops import OPS

CLAMPS = "left=clamp_with_grad&right=clamp_with_grad_that_works"
TWICE = "left=clamp_with_grad&right=clamp_with_grad"
PIXELS = "left=image_alpha&right=image_alpha"
OWN = """import torch
from torch.autograd import Function
class Sine(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()
    @staticmethod
    def backward(ctx, grad_output): return grad_output * ctx.saved_tensors[0].cos()
class Noisy(Sine):
    @staticmethod
    def forward(ctx, x): return Sine.forward(ctx, x) * (1 + 2**-50)
    @staticmethod
    def backward(ctx, grad_output): return Sine.backward(ctx, grad_output) + 1e-13
class Holed(Sine):
    @staticmethod
    def forward(ctx, x): return torch.where(x == 0, torch.nan, Sine.forward(ctx, x))
class Comb(Sine):
    @staticmethod
    def backward(ctx, g): return Sine.backward(ctx, g) + ((ctx.saved_tensors[0] * 2.5).floor() % 2)
class Failing(Sine):
    @staticmethod
    def forward(ctx, x):
        if x.dtype == torch.float32: raise ValueError("not in single precision")
        return Sine.forward(ctx, x)
"""
NUMBERED = '''
class {name}(Function):
    """
    {name} its < input.
{more}
    """

    @staticmethod
    def forward(ctx, x):
        """What{more} one line."""
        return {n} * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output
'''
OWN += NUMBERED.format(name="Twice", n=2, more="") + NUMBERED.format(name="Thrice", n=3, more="\n    or more,")
# Lines are counted as Python counts them: nothing of this ends one.
FED = 'class Fed(Sine):\n    """The\x0ccube\u2028of x."""\n\n\x0c\n\x0c# \x0b \x1c \x85 \u2029 .\n\n    kept = "\x0c"\n'


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Own]:
    with showing(tmp_path_factory.mktemp("pairs"), text=f"{OWN}\n\n{FED}") as server:
        yield server


@cache
def asked(server: str, query: str) -> dict[str, Any]:
    """The document of a pair."""
    response = http.get(f"{server}/compare.json?{query}")
    assert response.status_code == 200, response.text
    document: dict[str, Any] = response.json()
    return document


@cache
def page(server: str, query: str) -> str:
    return http.get(f"{server}/compare?{query}", headers={"accept": "text/html"}).text


class Fields(HTMLParser):
    """The fields of the form by name, with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: dict[str, dict[str, str | None]] = {}
        self._selected, self._chosen = "", False
        self.feed(text[text.index('<form class="controls"') :])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("input", "select") and given.get("name"):
            self._selected = given["name"] or ""
            self.found.setdefault(self._selected, given)
        self._chosen = tag == "option" and "selected" in given

    def handle_data(self, data: str) -> None:
        if self._chosen:
            self.found[self._selected] |= {"value": data}
            self._chosen = False

    def value(self, name: str) -> str:
        return (self.found[name].get("value") or "").replace("−", "-")


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
def test_the_shortest_address_says_what_differs_from_the_defaults_and_says_it_once(
    server: str, query: str, words: str
) -> None:
    ops = re.match(r"left=\w+&right=\w+", query)
    assert ops is not None
    assert asked(server, query)["address"] == f"/compare?{ops[0]}{words}"


def test_an_address_in_its_shortest_form_asks_the_same(server: str) -> None:
    words = ("min=-2", "left.min=0.5", "right.min=-1", "right.max=2", "grad_output=-1", "left.wrt=max", "start=-1")
    for chosen in [*product((True, False), repeat=len(words))][::9]:
        query = "&".join([CLAMPS, "count=5", *(word for word, there in zip(words, chosen, strict=True) if there)])
        document = asked(server, query)
        shortest = document["address"].removeprefix("/compare?")
        assert asked(server, shortest) == document
        assert len(shortest) <= len(query)


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
    (f"{CLAMPS}&order=3", "order=3 ", "1"),
    (f"{CLAMPS}&middle.min=1", "'middle.min'", "; allowed: "),
    ("left=nope&right=exp", "left=nope names no op", "/compare"),
    ("left=exp&right=sinhh", "right=sinhh names no op", "did you mean sinh?"),
    ("left=clipped_relu&right=image_alpha&wrt=a", "wrt=a names no element", "on the left, where Clipped ReLU is"),
    (f"{CLAMPS}&{'min=1&' * 4000}", "bytes", "leave defaults out"),
    ("min=1", "min is for two ops", "left"),
    ("left=clamp_with_grad&mni=1", "'mni'", "min"),
]


@pytest.mark.parametrize(("query", "culprit", "offer"), REFUSED)
def test_what_cannot_be_is_refused_in_a_sentence(server: str, query: str, culprit: str, offer: str) -> None:
    response = http.get(f"{server}/compare{'' if query in ('min=1', REFUSED[-1][0]) else '.json'}?{query}")
    assert response.status_code == (414 if culprit == "bytes" else 422)
    sentence = unescape(response.text) if "html" in response.headers["content-type"] else response.json()["detail"]
    assert culprit in sentence
    assert offer in sentence
    assert "html" in response.headers["content-type"] or (sentence.endswith(".") and len(sentence) < 400)


def test_where_nothing_is_said_of_it_x_runs_over_what_both_would_show_alone(server: str) -> None:
    both = asked(server, "left=exp&right=image_alpha")
    alone = [OPS["exp"].inputs[0].domain, OPS["image_alpha"].inputs[1].domain]
    usual = (min(low for low, _ in alone), max(high for _, high in alone))
    assert [(both[side]["start"], both[side]["stop"]) for side in ("left", "right")] == [usual] * 2
    assert tuple(map(float, both["usual"].values())) == usual
    given = asked(server, "left=exp&right=image_alpha&stop=1")
    assert {(given[side]["start"], given[side]["stop"]) for side in ("left", "right")} == {(usual[0], 1.0)}


def test_a_parameter_that_is_swept_keeps_x_within_its_bounds(server: str) -> None:
    found = asked(server, "left=clamp_with_grad&right=image_alpha&left.wrt=min")
    assert found["usual"] == {"start": "-3", "stop": "3"}  # alone, the pixels would go from -6 to 6


LAW = "For Clamp with grad, and not for Clamp with grad that works, backward is not linear in grad"
SAID = [
    (CLAMPS, 0, "forward is the same in both from −3 to 3."),
    (CLAMPS, 1, "For grad_output 1 backward differs for input > 1: at input = 2.1 "),
    (f"{CLAMPS}&grad_output=-1", 1, "For grad_output −1 backward differs for input < −1: at input = "),
    (f"{CLAMPS}&grad_output=-1", 1, "Clamp with grad returns −1, Clamp with grad that works 0."),
    (f"{CLAMPS}&grad_output=-1", 2, LAW),
    (CLAMPS, 3, "“differs by design” for Clamp with grad and “matches” for Clamp with grad that works"),
    ("left=sinh&right=sinh_on_ctx", 1, "For grad_output 1 backward returns the same in both."),
    ("left=clipped_relu&right=incorrect_clipped_relu", 1, "backward differs for input ≤ 0 and for input ≥ 2:"),
    (f"{TWICE}&right.min=-2", 0, "forward differs for input < −1:"),
    (f"{TWICE}&right.min=-2", 1, "backward differs for −2 < input < −1:"),
    (f"{TWICE}&right.min=-2", 1, "the left one returns 0, the right one 1"),
    (f"{TWICE}&right.grad_output=-1", 1, "For grad_output 1 and −1 backward differs everywhere from −3 to 3:"),
    ("left=exp&right=exp&right.dtype=float32", 1, "backward returns the same in both at the 17 values of x"),
    ("left=exp&right=exp&right.dtype=float16", 0, "is the same in both at the 17 values of x that both have."),
    ("left=exp&right=exp&right.dtype=float16&start=0.1&stop=0.3&count=2", 0, "The two have no x in common,"),
    ("left=cube&right=square", 0, "forward differs for x < 0, for 0 < x < 1 and for x > 1:"),
    (f"{CLAMPS}&wrt=min", 1, "backward cannot be compared: Clamp with grad and Clamp with grad that works return no"),
    (f"{CLAMPS}&dtype=float16", 0, "forward is the same in both"),
    # The example lies well inside of what differs, is the largest difference, and no end that does not differ.
    (f"{CLAMPS}&grad_output=-1&min=-1.3&start=-1.6&stop=0", 1, "for input < −1.3: at input = −1.5 "),
    ("left=exp&right=sinh", 0, "forward differs everywhere from −2 to 2: at x = 2 it is"),
    (f"{CLAMPS}&start=-2.3209999&stop=2.5990001", 1, "differs for input > 1: at input = 1.8 "),  # not at 1.0000001
    ("left=heaviside_sigmoid&right=heaviside_triangle", 1, "backward differs for x < 0 and for x > 0:"),  # not at 1e-15
    ("left=one_gradient_too_few&right=exp", 0, "forward differs everywhere from −3 to 3:"),
    ("left=one_gradient_too_few&right=exp", 1, "cannot be compared: that of One gradient too few failed."),
]


@pytest.mark.parametrize(("query", "place", "sentence"), SAID)
def test_what_differs_is_said_with_the_places(server: str, query: str, place: int, sentence: str) -> None:
    assert sentence in asked(server, query)["words"][place]


SAID_OF_OWN = [
    ("Noisy", 0, "forward is the same in both from "),
    ("Noisy", 1, "For grad_output 1 backward returns the same in both."),
    ("Holed", 0, "forward differs at x = 0: there it is 0 in Sine, not a number in Holed."),
    ("Comb", 1, "backward differs in 8 stretches between −2.8 and 3:"),
    ("Failing&right.dtype=float32", 0, "Failing failed, so there is nothing to compare."),
]


@pytest.mark.parametrize(("other", "place", "sentence"), SAID_OF_OWN)
def test_a_single_value_that_differs_is_found_and_noise_is_not_accused(
    own: Own, other: str, place: int, sentence: str
) -> None:
    assert sentence in asked(own.url, f"left=Sine&right={other}")["words"][place]


def test_what_both_have_is_one_field_what_one_has_is_its_own_and_they_say_what_the_address_says(server: str) -> None:
    other = Fields(page(server, "left=clipped_relu&right=sinh")).found
    assert {"clip", "input", "x"} <= other.keys()
    assert {"left.clip", "right.clip", "left.input"}.isdisjoint(other)
    fields = Fields(page(server, f"{CLAMPS}&min=-2&right.min=-0.5&left.wrt=max"))
    assert [fields.value(name) for name in ("min", "left.min", "right.min")] == ["-0.5", "-2", ""]
    assert [fields.value(name) for name in ("wrt", "left.wrt")] == ["input", "max"]
    queries = CLAMPS, f"{CLAMPS}&wrt=min", f"{CLAMPS}&left.wrt=min"
    idle = [re.findall(r'data-control="(\w+)" hidden', page(server, query)) for query in queries]
    assert idle == [["input"], ["min"], []]  # those of what is swept on both sides


Line = tuple[int, str, str]  # its number, what kind of line it is, and its text


def listed(server: str, query: str) -> list[list[Line | None]]:
    """The rows of the source on each side, None where there is no line."""
    sides = re.findall(r'<pre class="source"><code>(.*?)</code></pre>', page(server, query), re.DOTALL)
    row = re.compile(
        r'<span class="(absent|line[ \w]*)"(?: id="\w+-L(\d+)"[^>]*)?>((?:(?!<span class="(?:line|absent)).)*)',
        re.DOTALL,
    )
    return [
        [
            (int(number), kind.removeprefix("line").strip(), unescape(re.sub("<[^>]*>", "", text)).rstrip())
            if number
            else None
            for kind, number, text in row.findall(side)
        ]
        for side in sides
    ]


@pytest.mark.parametrize("names", [("clamp_with_grad", "clamp_with_grad_that_works"), ("sinh", "exp"), ("exp", "exp")])
def test_every_line_of_both_sources_stands_in_one_row_and_those_that_differ_are_marked(
    server: str, names: tuple[str, str]
) -> None:
    left, right = listed(server, "left={}&right={}".format(*names))
    for name, rows in zip(names, (left, right), strict=True):
        source = OPS[name].source.splitlines()
        lines = [row for row in rows if row]
        assert [number for number, _, _ in lines] == sorted(number for number, _, _ in lines)
        assert [text for _, kind, text in lines if kind != "docstring"] == [
            source[number - 1].rstrip() for number, kind, _ in lines if kind != "docstring"
        ]
        assert len(source) - len(lines) == source_of_docstrings(source)
    for one, other in zip(left, right, strict=True):
        same = bool(one and other and (one[2] == other[2] or one[1] == other[1] == "docstring"))
        for row in filter(None, (one, other)):
            assert (row[1] == "differing") == (not same and bool(row[2])), row


def source_of_docstrings(source: list[str]) -> int:
    """How many lines of the docstring of a class are folded away."""
    first = next(row for row, line in enumerate(source) if line.strip().startswith('"""'))
    return next(row for row in range(first, len(source)) if source[row].endswith('"""')) - first


def test_docstrings_are_folded_and_never_marked(own: Own) -> None:
    left, right = listed(own.url, "left=Twice&right=Thrice")
    folded = [row[2].strip() for row in left if row and row[1] == "docstring"]
    assert folded == ['"""Twice its < input. …"""', '"""What one line."""']
    marked = [[row[2].strip() for row in rows if row and row[1] == "differing"] for rows in (left, right)]
    assert marked == [[f"class {name}(Function):", f"return {n} * x"] for name, n in (("Twice", 2), ("Thrice", 3))]


def test_sources_are_compared_line_by_line_as_python_counts_lines(own: Own) -> None:
    rows, _ = listed(own.url, "left=Fed&right=Sine")
    assert [row[2] for row in rows if row] == [line.rstrip() for line in FED.split("\n")[:-1]]


def labels(text: str) -> list[str]:
    """What is written beside the panels of a still picture."""
    return re.findall(r"<text y=[^>]*>([^<]*)", text)


def test_both_still_pictures_have_the_same_axes(server: str) -> None:
    text = page(server, f"{TWICE}&right.grad_output=-2")
    left, right = (
        labels(text[text.index(f'id="{side}-still"') :].partition("</div>")[0]) for side in ("left", "right")
    )
    assert left == right
    assert {"1", "−2"} <= set(left)
    alone = http.get(f"{server}/ops/clamp_with_grad").text
    assert left != labels(alone.partition('class="still"')[2].partition("</div>")[0])


def test_of_what_failed_no_axis_is_shared(own: Own) -> None:
    failed, alone = (asked(own.url, f"left=Sine&right={other}") for other in ("Failing&right.dtype=float32", "Sine"))
    assert failed["left"]["scene"]["axes"] == alone["left"]["scene"]["axes"]


def test_the_page_without_answers_says_what_it_is_about() -> None:
    with serving_in_thread("--requests-per-peer", "0") as server:
        server.wait_until_ready()
        with halted(server):
            found = server.get(f"/compare?{CLAMPS}")
    assert found.headers["cache-control"] == "no-store"
    assert f'content="{server.url}/compare?{CLAMPS.replace("&", "&amp;")}"' in found.text
    assert "Clamp with grad and" in found.text
    assert 'data-still="1"' not in found.text


def test_the_choice_offers_pairs_that_there_are_and_keeps_what_is_asked(server: str) -> None:
    offered = re.findall(r'<li><a href="(/compare\?[^"]+)">', page(server, ""))
    assert len(offered) > 3
    for address in offered:
        assert http.get(server + unescape(address)).status_code == 200
    chosen = page(server, "left=image_alpha&wrt=a&c=0.5&grad_output=-1")
    kept = dict(re.findall(r'<input type="hidden" name="([\w.]+)" value="([^"]*)"', chosen))
    assert kept == {"left.wrt": "a", "left.c": "0.5", "grad_output": "-1"}
    assert all("left=image_alpha" in each for each in re.findall(r'<li><a href="(/compare\?[^"]+)">', chosen))
