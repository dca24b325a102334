"""The verdict on a page is of one pair: what the contract finds in another input stands beside it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from support.browser import alone, opened, shows
from support.checked_files import written
from support.own_server import showing
from support.own_worker import LAST

TWICE = "def forward(ctx, x): return 2 * x\ndef backward(ctx, grad_output): return 2 * grad_output"
ROWS = """
    def forward(ctx, x):
        y = x.softmax(-1)
        ctx.save_for_backward(y)
        return y
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * (grad_output - (grad_output * y).sum(0))
"""


@pytest.fixture
def page(tmp_path: Path, browser: Browser) -> Iterator[Page]:
    text = written({"Last": LAST, "Twice": TWICE, "Rows": ROWS})
    with showing(tmp_path, text=text) as server, alone(browser, server.url) as page:
        yield page


def test_other_inputs_and_calls_that_are_wrong_are_named_beside_the_verdict_and_lead_there(page: Page) -> None:
    opened(page, "/ops/Last")
    expect(page.locator("#verdict .word")).to_have_text("matches")
    beside = page.locator("#pair")
    expect(beside).to_contain_text("In weight backward differs")
    link = beside.get_by_role("link")
    expect(link).to_have_attribute("href", "/ops/Last?wrt=weight[6]&view=jacobian")
    link.click()
    shows(page, "/ops/Last?wrt=weight[6]")
    expect(page.locator("#verdict .word")).to_have_text("differs")
    shows(page, "/ops/Last?wrt=weight[6]&view=jacobian")
    opened(page, "/ops/Rows")  # whose wrong gradient another call shows
    expect(page.locator("#verdict .word")).to_have_text("matches")
    expect(beside).to_contain_text("Called in another way")
    beside.get_by_role("link").click()
    expect(page.locator(".called code")).to_have_text("x: float64[3,5]")
    expect(page.locator("#verdict .word")).to_have_text("differs")
