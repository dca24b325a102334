"""Figure and words stay legible for very large, very small and very narrow ranges."""

from __future__ import annotations

import itertools

import pytest
from playwright.sync_api import Page, expect
from support.browser import opened

LABELS = "() => [...document.querySelectorAll('#plot .{axis}tick text')].map(e => e.textContent)"
CLIPPED = """() => [...document.querySelectorAll('#plot .ytick text, #plot .y2tick text')]
.filter(e => e.getBoundingClientRect().left < document.querySelector('#plot').getBoundingClientRect().left)
.map(e => e.textContent)"""
BOXES = """() => [...document.querySelectorAll('#plot .xtick text')].map(e => e.getBoundingClientRect())
.map(({left, right}) => [left, right])"""


@pytest.mark.parametrize("width", [360, 1440])
@pytest.mark.parametrize(
    "query",
    [
        "grad_output=3e-7",
        "grad_output=-2e-5",
        "grad_output=1e200",
        "grad_output=-123456",
        "start=0.99999999&stop=1.00000001",
        "start=-1e-9&stop=1e-9",
        "start=-1000&stop=-990",
    ],
)
def test_labels_of_the_axes_differ_and_are_whole(page: Page, query: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    opened(page, f"/ops/exp?{query}")
    for axis in ("x", "y", "y2"):
        labels = page.evaluate(LABELS.format(axis=axis))
        assert len(set(labels)) == len(labels) > 1, labels
    assert page.evaluate(CLIPPED) == []
    boxes = sorted(page.evaluate(BOXES))
    assert all(left[1] < right[0] for left, right in itertools.pairwise(boxes)), page.evaluate(LABELS.format(axis="x"))


def test_labels_of_an_axis_share_a_power_of_ten(page: Page) -> None:
    opened(page, "/ops/double?grad_output=1e-7")
    labels = page.evaluate(LABELS.format(axis="y2"))
    assert {"0", "0.5·10⁻⁷", "1.0·10⁻⁷", "1.5·10⁻⁷", "2.0·10⁻⁷"} <= set(labels)


def test_a_narrow_range_is_told_with_the_digits_it_needs(page: Page) -> None:
    opened(page, "/ops/exp?start=0.99999&stop=1.00001")
    expect(page.locator("#summary")).to_contain_text(
        "goes from 0.99999 to 1.00001; y lies between 2.7182546 and 2.718309"
    )


def test_the_tolerance_is_told_as_it_is_applied(page: Page) -> None:
    opened(page, "/ops/exp?atol=0.25&rtol=0.5")
    said = "A difference counts only above 0.25 + 0.5 × |numerical| + 10 × the error bound"
    expect(page.locator("#method")).to_contain_text(said)
