from typing import Literal, NotRequired

import pytest
from typing_extensions import TypedDict

from gradloupe.server.protocol.fits import fits


class Point(TypedDict):
    kind: Literal["point"]
    x: float
    place: tuple[int, str]
    words: list[str]
    note: NotRequired[str]


class Two(TypedDict):
    point: Point | None
    named: dict[str, float]


POINT = {"kind": "point", "x": 1, "place": [1, "here"], "words": ["a"]}


def test_what_has_the_shape_fits() -> None:
    for value in (POINT, POINT | {"note": ""}, POINT | {"x": 0.5, "words": [], "unknown": {}}):
        assert fits(value, Point)
    assert fits({"point": None, "named": {}}, Two)
    assert fits({"point": POINT, "named": {"a": 1.5}}, Two)


@pytest.mark.parametrize(
    "change",
    [
        *({"kind": "line"}, {"kind": []}, {"x": "1"}, {"x": None}, {"place": [1]}, {"place": [1, 2]}, {"place": "1a"}),
        *({"words": "a"}, {"words": [1]}, {"words": {}}, {"note": 5}),
    ],
)
def test_what_has_another_shape_does_not(change: dict[str, object]) -> None:
    assert not fits(POINT | change, Point)
    assert not fits({"point": POINT | change, "named": {}}, Two)


def test_what_lacks_a_field_does_not_fit() -> None:
    for name in POINT:
        assert not fits({key: value for key, value in POINT.items() if key != name}, Point)
    assert not fits([], Two)
    assert not fits({"point": None, "named": {"a": "b"}}, Two)
