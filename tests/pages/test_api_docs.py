"""The description of the API and in a real browser: complete, offline, and inside the policy."""

import json
import re

import pytest
from playwright.sync_api import Page, expect

from gradloupe.server.http.openapi import API_DESCRIPTION, response_schemas
from gradloupe.server.protocol.views import VIEW_NAMES


@pytest.mark.nightly
def test_the_api_can_be_read_and_tried_without_any_other_host(page: Page, server: str) -> None:
    page.goto(f"{server}/docs")
    expect(page.locator(".opblock-summary-path")).to_have_count(12)
    page.get_by_text("The numbers of a section", exact=True).click()
    page.get_by_role("button", name="Try it out").click()
    page.get_by_role("button", name="Execute").click()
    answered = page.locator(".live-responses-table .response")
    expect(answered).to_contain_text("200")
    expect(answered).to_contain_text("matches its surrogate")


def test_curves_have_a_schema_other_views_a_description_and_every_schema_that_is_named_is_there() -> None:
    found = response_schemas()
    assert {"verdict", "marks", "columns"} <= found["SectionDocument"]["properties"].keys()
    assert {"sentence", "columns"} <= found["LookDocument"]["properties"].keys()
    named = re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(found))
    assert set(named) <= found.keys()
    assert [view for view in VIEW_NAMES if f"- `{view}`: " not in API_DESCRIPTION] == []
