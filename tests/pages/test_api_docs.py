"""The description of the API and in a real browser: complete, offline, and inside the policy."""

import pytest
from playwright.sync_api import Page, expect

from gradloupe.server.http.response_schemas import merge_schemas, response_schemas


@pytest.mark.nightly
def test_the_api_can_be_read_and_tried_without_any_other_host(page: Page, server: str) -> None:
    page.goto(f"{server}/docs")
    expect(page.locator(".opblock-summary-path")).to_have_count(12)
    page.get_by_text("The numbers of a section").click()
    page.get_by_role("button", name="Try it out").click()
    page.get_by_role("button", name="Execute").click()
    answered = page.locator(".live-responses-table .response")
    expect(answered).to_contain_text("200")
    expect(answered).to_contain_text("matches its surrogate")


def test_two_shapes_never_share_a_name_in_the_description() -> None:
    found = response_schemas()
    assert {"left", "right", "rise"} <= found["Cell"]["properties"].keys()
    assert {"of", "wrt"} <= found["JacobianCell"]["properties"].keys()
    assert {"links", "returned"} <= found["InfluenceLoss"]["properties"].keys()
    assert merge_schemas({"A": {}}, {"A": {}, "B": {}}) == {"A": {}, "B": {}}
    with pytest.raises(ValueError, match="'A'"):
        merge_schemas({"A": {"type": "number"}}, {"A": {"type": "string"}})
