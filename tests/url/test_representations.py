"""What an address names is shown, or refused in a sentence that names it; nothing is dropped."""

import pytest
from support import http

from gradloupe.server.protocol.views import VIEW_NAMES
from gradloupe.server.url.address import names_of_scope
from gradloupe.server.url.representations import EMBED, PICTURES, REPRESENTATIONS, Representation, representation_at

DRESSED = {"theme": "dark", "hide": "title", "width": "400", "height": "300", "sliders": "grad_output:2"}
OPTIONS = {
    **{"at": "1", "compile": "true", "lr": "0.1", "steps": "3", "goal": "2", "boxes": "9"},
    **{"wrt2": "min", "start2": "-1", "stop2": "1"},
}
FILES = ("html",)


def place(ending: str) -> str:
    return "/embed/clamp_with_grad" if ending == "embed" else f"/ops/clamp_with_grad{f'.{ending}' if ending else ''}"


def refused(server: str, address: str) -> list[str]:
    """The names of the parameters that are refused, none where there is an answer."""
    answer = http.get(server + address, headers={"accept": "application/json"}, timeout=60)
    if answer.status_code == 200:
        return []
    assert answer.status_code == 422, address
    if "json" not in answer.headers["content-type"]:  # a page, for people
        return [name for name in ("view", *DRESSED, *OPTIONS) if f"{name}=" in address and f"{name}=" in answer.text]
    found = answer.json()
    assert all(each["parameter"] in found["detail"] for each in found["errors"]), found["detail"]
    return [each["parameter"] for each in found["errors"]]


def test_every_representation_is_there_at_its_ending_and_of_its_media_type(server: str) -> None:
    for ending, shown in REPRESENTATIONS.items():
        answer = http.get(f"{server}{place(ending)}?count=11")
        assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (200, shown.media_type)
        assert representation_at(place(ending)) is shown
    for ending in PICTURES:
        answer = http.get(f"{server}/compare.{ending}?left=exp&right=double")
        assert (answer.status_code, answer.headers["content-type"]) == (200, REPRESENTATIONS[ending].media_type)
    assert [representation_at(path) for path in ("/ops/exp", "/embed/exp", "/ops/exp.jsn")] == [None] * 3


def test_every_parameter_of_dress_and_view_is_tried() -> None:
    assert set(DRESSED) == set(names_of_scope("dress"))
    assert {"view", *OPTIONS} == set(names_of_scope("view"))


@pytest.mark.parametrize(("ending", "shown"), [*REPRESENTATIONS.items(), ("embed", EMBED)])
def test_what_a_representation_does_not_show_is_refused_by_name(
    server: str, ending: str, shown: Representation
) -> None:
    for name, text in DRESSED.items():
        expected = [] if name in shown.dress else [name]
        assert refused(server, f"{place(ending)}?{name}={text}") == expected, name
    for view in VIEW_NAMES:
        if view not in shown.views:
            assert refused(server, f"{place(ending)}?view={view}") == ["view"]
    for name, text in OPTIONS.items() if shown.strict else ():
        if name not in ("wrt2", "start2", "stop2"):
            assert refused(server, f"{place(ending)}?{name}={text}") == [name]


@pytest.mark.parametrize("ending", PICTURES)
def test_a_part_that_no_picture_has_cannot_be_hidden_in_one(server: str, ending: str) -> None:
    assert refused(server, f"{place(ending)}?hide=source") == ["hide"]
    assert refused(server, f"{place(ending)}?hide=title,legend") == []


def test_all_that_is_wrong_is_told_at_once_and_what_to_do(server: str) -> None:
    answer = http.get(f"{server}/ops/clamp_with_grad.svg?view=contract&sliders=grad_output:2")
    assert [each["parameter"] for each in answer.json()["errors"]] == ["view", "sliders"]
    assert ".json" in answer.json()["detail"]
