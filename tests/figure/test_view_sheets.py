"""The pictures of closer looks: each shows its own panels, in its size, and says what was found."""

import re
from xml.etree import ElementTree

import pytest
from support import http
from support.scenes import address, document, frame

from gradloupe.server.figure.sheet_svg import print_svg
from gradloupe.server.protocol.frames import Frame
from gradloupe.server.protocol.views import DRAWN_VIEWS

LOOKS = tuple(view for view in DRAWN_VIEWS if view != "curves")


def words(svg: str) -> list[str]:
    return [text for text in ElementTree.fromstring(svg).itertext() if text.strip()]  # noqa: S314


WORDS = {
    "area": ["rise − area per cell", "allowed", "input"],
    "map": ["grad_output", "0", "input"],
    "precision": ["error of forward in units in the last place", "float16"],
    "wide": ["relative difference", "matches surrogate", "range of the figure"],
    "step": ["error of the difference", "central", "step of input"],
    "jacobian": ["numerical", "returned by backward", "difference", "y"],
    "surface": ["gradient along input, returned", "their difference", "input"],
    "descent": ["loss", "with this backward", "with the true derivative", "step"],
}


@pytest.mark.parametrize("view", LOOKS)
def test_every_view_that_is_a_figure_has_its_own_picture(server: str, view: str) -> None:
    answer = frame(document(server, f"/ops/clamp_with_grad.json?view={view}"))
    svg = print_svg(answer, address())
    said = words(svg)
    assert set(WORDS[view]) <= set(said)
    assert any(text.startswith("Clamp with grad: ") for text in said)
    assert "NaN" not in svg
    assert "inf" not in re.sub(r">[^<]*<", "", svg)
    assert len(svg) < 200_000
    small = print_svg(answer, address(width=240, height=180, hide=("title", "verdict", "legend", "controls")))
    assert 'viewBox="0 0 240 180"' in small
    assert "Gradloupe" not in words(small)


@pytest.mark.parametrize("view", LOOKS)
def test_a_picture_of_a_view_of_many_elements_or_of_a_failure_is_drawn(server: str, view: str) -> None:
    for op in ("functional_linear", "kill_head"):
        answer = frame(document(server, f"/ops/{op}.json?view={view}"))
        assert len(print_svg(answer, address())) < 600_000
    answer.header["failure"] = {"sentence": "forward raised RuntimeError."}
    assert "forward raised RuntimeError." in print_svg(Frame(answer.header, {}), address())


def test_a_picture_says_surrogate_only_where_the_op_names_one(server: str) -> None:
    for op, named in (("output_ignored", False), ("heaviside_sigmoid", True)):
        said = words(print_svg(frame(document(server, f"/ops/{op}.json?view=wide")), address()))
        assert ("matches surrogate" in said) == named


def test_a_legend_lies_right_above_its_panel_whatever_the_width(server: str) -> None:
    answer = frame(document(server, "/ops/clamp_with_grad.json?view=surface"))
    rooms = set()
    for width in range(452, 484, 4):
        svg = ElementTree.fromstring(print_svg(answer, address(width=width, height=700)))  # noqa: S314
        lines = [float(text.attrib["y"]) for text in svg if text.tag.endswith("text")]
        for panel in (each for each in svg if each.tag.endswith("svg")):
            top = float(panel.attrib["y"])
            rooms.add(round(min(top - line for line in lines if line < top)))
    assert len(rooms) == 1


def test_the_three_formats_of_a_view_are_served(server: str) -> None:
    for ending, start in {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF"}.items():
        view, curves = (http.get(f"{server}/ops/clamp_with_grad.{ending}{query}") for query in ("?view=area", ""))
        assert view.status_code == 200
        assert view.content.startswith(start)
        assert view.content != curves.content
