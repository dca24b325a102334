"""What is hidden of the curves is nowhere: not in a picture, nor in the page, nor in what its scripts are sent."""

from typing import Any

import pytest
from support.servers import Server

WRONG = "/ops/incorrect_clipped_relu"
EMBED = "/embed/incorrect_clipped_relu"


def drawn(server: Server, *hide: str, **more: str) -> dict[str, Any]:
    query = "&".join([f"hide={','.join(hide)}" if hide else "", *(f"{name}={text}" for name, text in more.items())])
    reply = server.get(f"{WRONG}.page.json?{query}")
    assert reply.status_code == 200
    document: dict[str, Any] = reply.json()
    return document


def test_what_is_hidden_is_not_sent_to_the_page(running: Server) -> None:
    whole, blind = drawn(running), drawn(running, "numerical", "implied", "shading")
    assert [curve[0] for curve in whole["scene"]["curves"]] == ["numerical", "implied", "forward", "analytical"]
    assert [curve[0] for curve in blind["scene"]["curves"]] == ["forward", "analytical"]
    assert set(whole["scene"]["legend"]["curves"]) - set(blind["scene"]["legend"]["curves"]) == {
        *("numerical", "implied", "disagreement")
    }
    assert blind["scene"]["stripes"] == blind["verdict"]["intervals"] == []
    for name in ("numerical", "error", "left", "right"):
        assert {*blind["columns"][name]} == {None}
    assert blind["columns"]["analytical"] == whole["columns"]["analytical"]
    assert {mark["left"] for mark in blind["marks"]} == {None}
    assert blind["address"] == whole["address"]


def test_a_section_that_is_asked_again_stays_as_hidden(running: Server) -> None:
    assert len({*drawn(running, "numerical", grad_output="-1")["columns"]["numerical"]}) == 1
    assert drawn(running, "shading", clip="1")["scene"]["stripes"] == []


def test_a_picture_leaves_out_the_same_curves_and_the_words_of_a_hidden_verdict(running: Server) -> None:
    whole, blind = (
        running.get(f"{WRONG}.svg?theme=light&hide={hide}").text
        for hide in ("title", "numerical,implied,shading,verdict")
    )
    assert "numerical" in whole
    assert "differ" in whole
    assert "numerical" not in blind
    assert "differ" not in blind
    assert "derivative" not in blind


def test_an_embed_hides_the_link_and_the_hint(running: Server) -> None:
    whole, blind = (running.get(f"{EMBED}?hide={hide}").text for hide in ("title", "open,hint"))
    assert "Open in Gradloupe" in whole
    assert "Open in Gradloupe" not in blind
    assert 'id="linearity"' in whole
    assert 'id="linearity"' not in blind


@pytest.mark.parametrize(
    ("place", "status"),
    [
        (f"{WRONG}.svg?hide=numerical", 200),
        (f"{WRONG}.svg?hide=open", 422),
        (f"{WRONG}.svg?hide=numerical&view=area", 422),
        (f"{WRONG}.html?hide=numerical", 200),
        (f"{WRONG}.csv?hide=numerical", 422),
        (f"{EMBED}?hide=numerical,implied,shading,verdict,open,hint", 200),
    ],
)
def test_what_cannot_hide_it_refuses_to(running: Server, place: str, status: int) -> None:
    assert running.get(place).status_code == status


def test_the_picture_of_a_preview_hides_what_its_figure_does(running: Server) -> None:
    address = f"{running.url}{WRONG}?hide=numerical,source"
    assert running.get(f"/oembed?url={address}").json()["thumbnail_url"].endswith("hide=numerical")
