"""The view of a plane: what its address takes and refuses, and what comes back."""

from typing import Any

import pytest
from support import http
from support.answers import document
from support.described_ops import DEVICE, OPS
from support.documents import validate

from gradloupe.server.catalogue.op_description import parse_element
from gradloupe.server.protocol.question import Element
from gradloupe.server.url.address import canonical_address, curves_only, default_wrt2
from gradloupe.server.url.numbers import BadQuery
from gradloupe.server.url.parse import parse_query, read_address


def asked(op: str, query: str = "") -> Any:
    return read_address(OPS[op], DEVICE, parse_query(f"view=surface{query}"))


def answered(server: str, address: str) -> dict[str, Any]:
    response = http.get(f"{server}{address}")
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    validate(found, "surface")
    return found


@pytest.mark.parametrize(
    ("op", "wrt", "other"),
    [
        ("abs_product", "u", "v"),
        ("abs_product", "v", "u"),
        ("image_alpha", "c", "a"),
        ("kill_head", "x[0,3]", "x[0,4]"),
        ("kill_head", "x[2,7]", "x[0,0]"),
        ("functional_linear", "weight[0,0]", "weight[0,1]"),
        ("clamp_with_grad", "input", "min"),
        ("clamp_with_grad", "min", "input"),
        ("exp", "x", None),
    ],
)
def test_the_next_number_that_can_be_swept_is_swept_too(op: str, wrt: str, other: str | None) -> None:
    assert default_wrt2(OPS[op], parse_element(wrt)) == (parse_element(other) if other else None)


def test_the_shortest_address_leaves_out_what_is_so_anyway() -> None:
    explicit = asked("abs_product", "&wrt2=v&start2=-3&stop2=3")
    assert explicit == asked("abs_product")
    assert canonical_address(OPS["abs_product"], explicit) == "/ops/abs_product?view=surface"
    other = asked("image_alpha", "&wrt2=a&start2=0.25")
    assert canonical_address(OPS["image_alpha"], other) == "/ops/image_alpha?view=surface&wrt2=a&start2=0.25"
    assert canonical_address(OPS["image_alpha"], curves_only(other)) == "/ops/image_alpha"


def test_another_view_does_not_mind_what_a_surface_would_sweep() -> None:
    address = read_address(OPS["image_alpha"], DEVICE, {"view": "area", "wrt2": "a", "stop2": "0.5"})
    assert canonical_address(OPS["image_alpha"], address) == "/ops/image_alpha?view=area"


def test_a_proof_holds_what_is_named_a_tenth_to_either_side_of_its_number_if_no_range_is_said() -> None:
    def held(op: str, query: str) -> tuple[str, str, float | None, float | None]:
        address = read_address(OPS[op], DEVICE, {"view": "proof"} | parse_query(query))
        found = address.question
        return canonical_address(OPS[op], address), str(found.wrt2), found.start2, found.stop2

    assert held("swish", "") == ("/ops/swish?view=proof", "None", None, None)
    assert held("swish", "wrt2=beta&start2=0.9") == ("/ops/swish?view=proof&wrt2=beta", "beta", 0.9, 1.1)
    assert held("swish", "wrt2=beta&beta=2")[2:] == (1.8, 2.2)
    assert held("leaky_relu", "wrt2=slope&slope=0")[2:] == (0, 0.1)
    assert held("matrix_product", "wrt2=B[1,0]")[1:] == ("B[1,0]", 0.45, 0.55)
    for query, said in (
        ("start2=1", "start2 is of what wrt2 names; name it, or leave start2 out."),
        ("wrt2=x", "wrt2=x is what wrt sweeps already"),
        ("wrt2=beta&start2=-1", "start2=-1.0 is out of bounds"),
        ("wrt2=beta&start2=2&stop2=1", "The range from start2=2 to stop2=1 is reversed"),
    ):
        with pytest.raises(BadQuery) as refused:
            held("swish", query)
        assert said in str(refused.value)


@pytest.mark.parametrize(
    ("op", "query", "said"),
    [
        ("abs_product", "wrt2=u", "wrt2=u is what wrt sweeps already; choose another element, such as v."),
        ("exp", "wrt2=x", "wrt2=x is what wrt sweeps already; it is the only number that can be swept."),
        ("abs_product", "wrt2=w", "wrt2=w names no element; allowed: u, v."),
        ("kill_head", "wrt2=x[3,0]", "wrt2=x[3,0] names no element; allowed are x[0,0] to x[2,7]."),
        ("abs_product", "start2=3&stop2=3", "The range from start2=3 to stop2=3 is empty"),
        ("abs_product", "start2=3&stop2=1", "The range from start2=3 to stop2=1 is reversed"),
        ("abs_product", "start2=1&stop2=1.0000000000000002", "is too narrow for different points"),
        ("abs_product", "start2=banana", "start2=banana"),
        ("abs_product", "stop2=nan", "stop2=nan"),
        ("clamp_with_grad", "wrt2=max&stop2=9", "stop2=9.0 is out of bounds; give a number from -3 to 3."),
        ("abs_product", "dtype=float16&stop2=1e6", "stop2=1e+06 is too large for float16"),
    ],
)
def test_what_cannot_be_swept_is_refused_in_a_sentence(server: str, op: str, query: str, said: str) -> None:
    response = http.get(f"{server}/ops/{op}.json?view=surface&{query}")
    assert response.status_code == 422
    assert said in response.json()["detail"]


def test_a_surface_is_a_document_of_its_own(server: str) -> None:
    found = answered(server, "/ops/abs_product.json?view=surface")
    assert (found["wrt"], found["wrt2"], found["start2"], found["stop2"]) == ("u", "v", -3, 3)
    assert (found["shape"], found["places"], found["structure"]) == ([61, 61], [0, 0], "together")
    assert found["potential"]["word"] == "forward"
    assert found["columns"]["implied"] is None
    columns = found["columns"]
    row = 12 * 61 + 45
    assert (columns["x"][45], columns["y"][12]) == (1.5, -1.8)
    assert columns["forward"][row] == pytest.approx(2.7)
    assert columns["analytical_x"][row] == pytest.approx(1.8)
    assert columns["numerical_y"][row] == pytest.approx(-1.5)


@pytest.mark.parametrize(("count", "points"), [(401, 61), (7, 7), (5001, 101)])
def test_so_many_points_are_on_the_maps(server: str, count: int, points: int) -> None:
    assert answered(server, f"/ops/abs_product.json?view=surface&count={count}")["shape"] == [points, points]


def test_where_every_point_costs_a_call_there_are_fewer_and_a_note_says_why() -> None:
    plane = {"wrt2": Element("max"), "start2": -3.0, "stop2": 3.0}
    found, _ = document("clamp_with_grad", "surface", wrt="min", **plane)
    assert found["structure"] == "one by one"
    assert found["shape"] in ((17, 17), (9, 9), (5, 5))  # the less, the busier this machine is
    assert found["notes"]


def test_a_weight_and_an_input_of_a_layer_are_swept_line_by_line() -> None:
    found, _ = document("functional_linear", "surface", wrt2=Element("input", (1, 0)), start2=-3.0, stop2=3.0)
    assert (found["shape"], found["structure"], found["notes"]) == ((61, 61), "line by line", [])
    assert found["potential"]["word"] == "forward"


def test_one_number_makes_no_surface_and_a_sentence_says_so(server: str) -> None:
    found = answered(server, "/ops/exp.json?view=surface")
    assert "only number" in found["sentence"]
    assert (found["wrt2"], found["shape"], found["columns"]["forward"]) == (None, [0, 0], [])


def test_every_two_elements_of_few_are_tested(server: str) -> None:
    found = answered(server, "/ops/image_alpha.json?view=surface")
    assert [(each["wrt"], each["wrt2"], each["holds"]) for each in found["pairs"]] == [
        ("a", "b", True),
        ("a", "c", True),
        ("b", "c", True),
    ]
