"""The grammar of the address: what is wrong is named in one sentence, what is right comes back in its shortest form."""

import json
import math
import re
from dataclasses import asdict
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import http
from support.described_ops import DEVICE, OPS

from gradloupe.ops.op import RESERVED
from gradloupe.server.catalogue.op_description import parse_element
from gradloupe.server.protocol.question import Element, Question
from gradloupe.server.protocol.views import VIEW_NAMES
from gradloupe.server.url.address import (
    HIDEABLE_PARTS,
    PARAMETERS,
    THEMES,
    Address,
    canonical_address,
    default_address,
    default_query_values,
    default_ranges,
    names_of_scope,
)
from gradloupe.server.url.numbers import BadQuery, read_float, write_number
from gradloupe.server.url.parse import parse_query, read_address


def read(op: dict[str, Any], query: str, device: dict[str, Any] = DEVICE) -> Address:
    return read_address(op, device, parse_query(query))


METAL = {
    "torch": DEVICE["torch"],
    "auto": "mps",
    "devices": [{"kind": "mps", "name": "Apple GPU (Metal)", "dtypes": ["float32"]}, *DEVICE["devices"]],
}
CLAMP = "/ops/clamp_with_grad"
LINEAR = "/ops/functional_linear"
DRESSED = "?theme=dark&hide=verdict,legend&height=420&sliders=min:9,grad_output:3"
FINITE = st.floats(-1e300, 1e300)
REFUSED = [
    # address, what the sentence names, what it offers
    (f"{CLAMP}?mn=1", "'mn'", "did you mean min?"),
    (f"{CLAMP}?zzz=1", "'zzz'", "; allowed: min, max, input"),
    (f"{CLAMP}?theme=dusk", "theme=dusk", "auto, light, dark"),
    (f"{CLAMP}?hide=legends", "hide=legends", "did you mean legend?"),
    (f"{CLAMP}?width=199", "width=199", "from 200 to 2400"),
    (f"{CLAMP}?height=1e3", "height=1e3", "whole number"),
    (f"{CLAMP}?height=99999", "height=99999", "from 150 to 2400"),
    (f"{CLAMP}?sliders=mn:9", "'mn'", "did you mean min?"),
    (f"{CLAMP}?sliders=min:9,min:3", "min twice", "name it once"),
    (f"{CLAMP}?sliders=min", "wrong for min", "min:9"),
    (f"{CLAMP}?sliders=min:1", "min=1 is out of bounds", "from 2 to 41"),
    (f"{LINEAR}?sliders=with_bias:2", "wrong for with_bias", "write with_bias alone"),
    (f"{CLAMP}?min=-1&min=0", "min", "give it once"),
    (f"{CLAMP}?min=", "min=", "plain digits"),
    (f"{CLAMP}?min=a", "min=a", "plain digits"),
    (f"{CLAMP}?min=-2,5", "min=-2,5", "with a point, -2.5."),
    (f"{CLAMP}?min=nan", "min=nan", "from -3 to 3"),
    (f"{CLAMP}?min=3.0001", "min=3.0001", "from -3 to 3"),
    (f"{CLAMP}?min=1_0", "min=1_0", "plain digits"),
    (f"{CLAMP}?min=٣", "min=٣", "plain digits"),
    (f"{CLAMP}?min=%00", "min=�", "plain digits"),
    (f"{CLAMP}?grad_output=nan", "grad_output=nan", "a number"),
    (f"{CLAMP}?grad_output=1e999", "grad_output=1e999", "1e300"),
    (f"{CLAMP}?start=3&stop=3", "start=3 to stop=3", "empty"),
    (f"{CLAMP}?start=3&stop=-3", "start=3 to stop=-3", "reversed"),
    (f"{CLAMP}?start=5", "start=5 to stop=3", "below stop"),
    (f"{CLAMP}?start=inf", "start=inf", "a number"),
    (f"{CLAMP}?stop=1e301", "stop=1e301", "1e300"),
    (f"{CLAMP}?start=1&stop=1.0000000000000002", "too narrow", "widen it"),
    (f"{CLAMP}?count=0", "count=0", "from 2 to 5001"),
    (f"{CLAMP}?count={'9' * 5000}", "count=999", "from 2 to 5001"),
    (f"{CLAMP}?count=4.5", "count=4.5", "whole number"),
    (f"{CLAMP}?wrt=inputs", "wrt=inputs", "did you mean input?"),
    (f"{CLAMP}?wrt=input[0]", "wrt=input[0]", "wrt=input."),
    (f"{CLAMP}?wrt=", "wrt=", "; allowed: "),
    (f"{CLAMP}?of=z", "of=z", "; allowed: y."),
    (f"{LINEAR}?wrt=weight", "wrt=weight", "weight[0,0] to weight["),
    (f"{LINEAR}?wrt=weight[-1,0]", "wrt=weight[-1,0]", "? Allowed: "),
    (f"{LINEAR}?of=y[0,1,2]", "of=y[0,1,2]", "y[0,0] to y["),
    (f"{LINEAR}?weight=1,2", "weight=1,2", "separated by commas"),
    (f"{CLAMP}?input=1,2,3", "input=1,2,3", "input needs 1"),
    (f"{CLAMP}?input=0,5", "input=0,5", "input needs 1, written with a point: 0.5."),
    (f"{CLAMP}?input=nan", "input=nan", "a number"),
    (f"{CLAMP}?dtype=float80", "dtype=float80", "float64, float32, bfloat16, float16"),
    (f"{CLAMP}?dtype=float16&stop=1e5", "stop=100000", "at most 65504"),
    (f"{CLAMP}?dtype=float32&grad_output=1e39", "grad_output=1e+39", "dtype=float64"),
    (f"{CLAMP}?device=tpu", "device=tpu", "? Allowed: auto, cpu"),
    (f"{CLAMP}?layout=round", "layout=round", "stacked, overlaid"),
    (f"{CLAMP}?view=aera", "view=aera", "did you mean area?"),
    (f"{CLAMP}?view=", "view=", "curves, area, map, precision, wide, step"),
    (f"{CLAMP}?view=map&view=area", "view", "give it once"),
    (f"{CLAMP}?view=step&at=here", "at=here", "plain digits"),
    (f"{CLAMP}?view=step&at=1e301", "at=1e301", "1e300"),
    (f"{CLAMP}?view=step&dtype=float16&at=-1e5", "at=-100000", "at most 65504"),
    (f"{CLAMP}?view=step&wrt=min&at=-4", "at=-4", "from -3 to 3"),
    (f"{CLAMP}?step=0", "step=0", "above 0"),
    (f"{CLAMP}?atol=-1", "atol=-1", "at least 0"),
    (f"{CLAMP}?rtol=inf", "rtol=inf", "a number"),
    (f"{CLAMP}?wrt=min&start=-4", "start=-4", "from -3 to 3"),
    (f"{CLAMP}?compile=perhaps", "compile=perhaps", "one of its words"),
    (f"{LINEAR}?with_bias=yes", "with_bias=yes", "true, false"),
]


def test_a_bad_address_is_refused_in_one_sentence(server: str, subtests: pytest.Subtests) -> None:
    for address, culprit, offer in REFUSED:
        with subtests.test(address):
            path, _, query = address.partition("?")
            response = http.get(f"{server}{path}.json?{query}")
            problem = response.json()
            assert response.status_code == 422
            assert response.headers["content-type"] == "application/problem+json"
            assert culprit in problem["detail"]
            assert offer in problem["detail"]
            assert problem["detail"].endswith(".")
            page = http.get(f"{server}{address}")
            assert page.status_code == 422
            assert page.headers["content-type"].startswith("text/html")


def test_an_endless_query_is_refused(server: str) -> None:
    response = http.get(f"{server}{CLAMP}.json?min={'1' * 20_000}")
    assert response.status_code == 414
    assert "16384" in response.json()["detail"]


def test_a_float64_request_on_a_device_that_has_none_names_what_it_has() -> None:
    with pytest.raises(BadQuery, match=r"float64 does not exist on Apple GPU \(Metal\); allowed are float32\."):
        read(OPS["exp"], "device=mps", METAL)
    assert read(OPS["exp"], "device=mps&dtype=float32", METAL).question.dtype == "float32"


# By the op and the query: what is asked then.
READ = [
    (
        *("functional_linear", "wrt=weight[0,1]&of=y[0,0]&start=-2&stop=2.5&count=11"),
        {"wrt": Element("weight", (0, 1)), "of": Element("y", (0, 0)), "start": -2, "stop": 2.5, "count": 11},
    ),
    ("clamp_with_grad", "min=−1.5", {"parameters": {"min": -1.5, "max": 1.0}}),  # a minus as print has it
    ("clamp_with_grad", "wrt=min", {"start": -3, "stop": 3}),  # the bounds of what is swept
    ("exp", "view=step&start=1&stop=4", {"view": "step", "at": None, "place": 2.5}),
    ("exp", "view=step&at=", {"at": None}),
    ("exp", "view=step&at=9", {"at": 9, "place": 9}),
    ("exp", "view=contract&compile=true", {"compile": True}),
]


@pytest.mark.parametrize(("op", "query", "expected"), READ)
def test_every_kind_of_state_is_read(op: str, query: str, expected: dict[str, Any]) -> None:
    asked = read(OPS[op], query).question
    assert {name: getattr(asked, name) for name in expected} == expected


def test_the_sign_of_a_zero_is_read() -> None:
    held = read(OPS["replace_grad"], "x_backward=+2.5&grad_output=-0").question
    assert held.inputs["x_backward"] == (2.5,)
    assert math.copysign(1, held.grad_output) == -1


SHORTEST = [
    ("clamp_with_grad", "layout=stacked&grad_output=-1.0&count=401&max=1e0&min=-0.5", "?min=-0.5&grad_output=-1"),
    ("clamp_with_grad", "utm_source=mail&min=-2&fbclid=abc", "?min=-2"),  # what newsletters append is not read
    ("exp", "view=curves&at=&dtype=float64", ""),
    ("exp", "at=9&view=step", "?view=step&at=9"),
    ("exp", "compile=true&view=contract", "?view=contract&compile=true"),
    *(
        ("clamp_with_grad", f"height=420&hide={hidden}&theme=dark&sliders=min:9,grad_output:3&width=", DRESSED)
        for hidden in ("legend,verdict", "verdict,legend")
    ),
]


@pytest.mark.parametrize(("op", "query", "shortest"), SHORTEST)
def test_defaults_are_left_out_and_the_order_is_that_of_the_declaration(op: str, query: str, shortest: str) -> None:
    address = read(OPS[op], query)
    assert canonical_address(OPS[op], address) == f"/ops/{op}{shortest}"
    assert canonical_address(OPS[op], address, "/embed/{name}") == f"/embed/{op}{shortest}"


def test_rows_may_be_parted_by_semicolons() -> None:
    weight = next(each for each in OPS["functional_linear"]["inputs"] if each["name"] == "weight")
    rows, columns = weight["shape"]
    text = ";".join(",".join(str(10 * i + j) for j in range(columns)) for i in range(rows))
    asked = read(OPS["functional_linear"], f"weight={text}").question
    assert asked.inputs["weight"] == tuple(10 * i + j for i in range(rows) for j in range(columns))


def test_what_nothing_bounds_is_looked_at_around_its_default() -> None:
    unbounded = [
        {"name": "k", "kind": "float", "minimum": None, "maximum": None, "default": 10.0},
        {"name": "n", "kind": "int", "minimum": 0, "maximum": None, "default": 2},
        {"name": "mode", "kind": "choice", "minimum": None, "maximum": None, "default": "a"},
    ]
    op = OPS["exp"] | {"parameters": unbounded}
    assert default_ranges(op) == {"x": (-2, 2), "k": (7, 13), "n": (0, 5)}
    assert read(op, "wrt=k").question.stop == 13


def test_an_address_of_nothing_but_defaults_may_leave_all_of_them_out(subtests: pytest.Subtests) -> None:
    for name, op in OPS.items():
        for wrt in op["elements"]["wrt"]:
            with subtests.test(name, wrt=wrt):
                usual = default_query_values(op, parse_element(wrt)) | {"wrt": wrt}
                query = "&".join(f"{key}={quote(text)}" for key, text in usual.items())
                assert read(op, query) == default_address(op, parse_element(wrt))


def test_an_op_without_a_query_has_the_shortest_address() -> None:
    assert {name: read(op, "") for name, op in OPS.items()} == {name: default_address(op) for name, op in OPS.items()}
    assert {canonical_address(op, default_address(op)) for op in OPS.values()} == {f"/ops/{name}" for name in OPS}


@st.composite
def addresses(draw: st.DrawFn) -> tuple[str, Address]:
    op = OPS[draw(st.sampled_from(sorted(OPS)))]
    said = [f"wrt={draw(st.sampled_from(op['elements']['wrt']))}", f"of={draw(st.sampled_from(op['elements']['of']))}"]
    said += [f"{i['name']}={','.join(write_number(draw(FINITE)) for _ in i['values'])}" for i in op["inputs"]]
    said += [
        f"{p['name']}={write_number(draw(st.floats(p['minimum'], p['maximum'])))}"
        for p in op["parameters"]
        if p["kind"] == "float" and draw(st.booleans())
    ]
    said += [f"grad_output={draw(FINITE)!r}", f"count={draw(st.integers(2, 50))}"]
    said += [f"layout={draw(st.sampled_from(['stacked', 'overlaid']))}"] * draw(st.integers(0, 1))
    said += [f"view={draw(st.sampled_from(VIEW_NAMES))}"] * draw(st.integers(0, 1))
    said += [f"theme={draw(st.sampled_from(THEMES))}"] * draw(st.integers(0, 1))
    said += [f"hide={','.join(draw(st.lists(st.sampled_from(HIDEABLE_PARTS), unique=True)))}"] * draw(st.integers(0, 1))
    said += [f"width={draw(st.integers(200, 2400))}"] * draw(st.integers(0, 1))
    said += [f"sliders=grad_output:{draw(st.integers(2, 41))}"] * draw(st.integers(0, 1))
    swept = said[0].removeprefix("wrt=")
    if swept not in [each["name"] for each in op["parameters"]]:  # those have bounds
        said += [f"at={draw(st.floats(0, 1))!r}"] * draw(st.integers(0, 1))
    query = "&".join(draw(st.permutations(said)))
    return op["name"], read(op, query)


@given(addresses())
def test_the_canonical_address_asks_for_exactly_the_same(asked: tuple[str, Address]) -> None:
    name, address = asked
    path, _, query = canonical_address(OPS[name], address).partition("?")
    again = read(OPS[name], query)
    assert path == f"/ops/{name}"
    assert repr(again) == repr(address)
    assert canonical_address(OPS[name], again) == canonical_address(OPS[name], address)


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300))
def test_a_written_number_is_read_as_the_same_bits(value: float) -> None:
    again = read_float("x", write_number(value))
    assert (again, math.copysign(1, again)) == (value, math.copysign(1, value))
    assert json.loads(write_number(value)) == value


def test_every_parameter_that_is_refused_has_a_sentence_of_its_own(server: str) -> None:
    problem = http.get(f"{server}{CLAMP}.json?min=9&lr=0&steps=ten").json()
    assert problem["parameter"] == "min"
    assert [each["parameter"] for each in problem["errors"]] == ["min", "lr", "steps"]
    assert problem["detail"] == " ".join(each["detail"] for each in problem["errors"])
    apart = http.get(f"{server}{CLAMP}.json?dtype=float16&start=-1e5&grad_output=1e6").json()
    assert [each["parameter"] for each in apart["errors"]] == ["start", "grad_output"]


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("mn=1", "mn"),
        ("count=2&count=3", "count"),
        ("start=3&stop=-3", "start"),
        ("sliders=mn:9", "sliders"),
        ("recipe=x", "recipe"),
        ("dtype=float16&grad_output=65510", "grad_output"),
        ("goal=1,2&view=descent", "goal"),
        ("view=surface&wrt2=input", "wrt2"),
    ],
)
def test_a_problem_names_the_parameter_at_fault(server: str, query: str, parameter: str) -> None:
    problem = http.get(f"{server}{CLAMP}.json?{query}").json()
    assert problem["parameter"] == parameter
    assert problem["errors"] == [{"parameter": parameter, "detail": problem["detail"]}]


def test_a_problem_that_no_parameter_is_to_blame_for_names_none(server: str) -> None:
    assert "parameter" not in http.get(f"{server}/ops/nope.json").json()


def test_every_parameter_of_the_address_is_a_reserved_word() -> None:
    assert {*PARAMETERS, "left", "right", "format", "token"} == RESERVED


def test_the_page_is_told_which_parameters_do_not_belong_to_the_section(server: str) -> None:
    page = http.get(f"{server}{CLAMP}").text
    scripts = "".join(http.get(server + each).text for each in set(re.findall(r'"(/static/[^"]+/js/[^"]+\.js)"', page)))
    lists = [json.loads(names) for names in re.findall(r'\[(?:"\w+"(?:, ?)?)+\]', scripts)]  # minified or not
    dress, view = names_of_scope("dress"), names_of_scope("view")
    assert dress in lists
    assert view in lists
    assert {"theme", "width"} < {*dress}
    assert {"view", "lr"} < {*view}


def test_the_page_has_a_field_for_every_parameter_of_a_view(server: str) -> None:
    page = http.get(f"{server}{LINEAR}?view=descent&steps=7").text
    assert {name for name in names_of_scope("view") if f'name="{name}"' not in page} == set()
    assert re.search(r'name="steps" value="7"', page)


def test_a_question_is_the_same_after_its_way_to_the_worker() -> None:
    query = "view=surface&wrt=weight[0,1]&wrt2=weight[1,0]&goal=1&compile=true"
    asked = read(OPS["functional_linear"], query).question
    assert Question.from_plain(json.loads(json.dumps(asdict(asked)))) == asked


def test_an_op_may_declare_with_which_grad_output_it_begins(server: str) -> None:
    for query, grad_output, address in (
        ("", -1, ""),
        ("?grad_output=-1", -1, ""),
        ("?grad_output=1", 1, "?grad_output=1"),
    ):
        found = http.get(f"{server}/ops/lower_bound.json{query}").json()
        assert (found["grad_output"], found["address"]) == (grad_output, f"/ops/lower_bound{address}")
