"""``/own`` and the gallery of a server that shows a visitor's own Functions."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from support import http
from support.axe import violations
from support.browser import alone, shows
from support.checked_files import written
from support.command_line import NO_HURRY
from support.own_server import FUNCTIONS, MY_OPS, Own, showing
from support.servers import serving_in_thread

BROKEN = MY_OPS.replace("x**3", "x**")
LONG = "AClampWithANameThatIsLongerThanTheScreenOfAnyTelephoneIsWide"
HELD = "import os, time\nwhile not os.path.exists('go'):\n    time.sleep(0.01)\n"
SCALES = "def forward(ctx, x):\n    return {0} * x\ndef backward(ctx, grad_output):\n    return {0} * grad_output"
MANY = {f"F{i}": SCALES.format(float(i)) for i in range(500)}


def test_it_leads_to_the_first_function_of_the_file_and_yours_to_all(my_ops: Own, mine: Page) -> None:
    led = my_ops.get("/own")
    assert (led.status_code, led.headers["location"], led.headers["cache-control"]) == (303, "/ops/Clamp", "no-store")
    mine.goto("/own")
    shows(mine, "/ops/Clamp")
    mine.get_by_role("link", name="Yours").click()
    expect(mine).to_have_url(f"{my_ops.url}/#yours")
    expect(mine.locator("#card-Clamp")).to_be_in_viewport()


def test_a_server_of_the_gallery_alone_says_so_and_follows_nothing(server: str) -> None:
    for method, address in (("GET", "/own"), ("GET", "/events"), ("POST", "/reload")):
        refused = http.request(method, server + address)
        assert refused.status_code == 404
        assert "gradloupe my_ops.py" in refused.json()["detail"]
    assert "Yours" not in http.get(f"{server}/").text


def test_while_the_file_is_imported_a_page_waits_and_goes_on_by_itself(tmp_path: Path, browser: Browser) -> None:
    (tmp_path / "my_ops.py").write_text(HELD + MY_OPS)
    with serving_in_thread("my_ops.py", cwd=tmp_path) as server, alone(browser, server.url) as page:
        page.goto("/own")
        expect(page.get_by_role("heading", name="Your Functions")).to_be_visible()
        expect(page.locator(".lede")).to_contain_text("is being imported")
        (tmp_path / "go").touch()
        shows(page, "/ops/Clamp")


def test_a_file_that_was_never_loaded_is_explained_and_the_page_goes_on_when_it_is_however_long_its_names(
    tmp_path: Path, browser: Browser
) -> None:
    with showing(tmp_path, *NO_HURRY, text=BROKEN) as server, alone(browser, server.url) as page:
        page.goto("/own")
        expect(page.locator("#main")).to_contain_text("SyntaxError")
        expect(page.locator("#main")).to_contain_text("return x**")
        assert violations(page) == []
        page.goto("/")
        amiss = page.locator(".amiss")
        expect(amiss).to_contain_text("my_ops.py")
        assert not page.locator("#card-Clamp").count()
        amiss.get_by_role("link", name="Show where").click()
        expect(page.locator("#main")).to_contain_text("return x**")
        (tmp_path / "my_ops.py").write_text(MY_OPS.replace("Clamp", LONG))
        shows(page, f"/ops/{LONG}")
        page.set_viewport_size({"width": 360, "height": 800})
        for address in ("/", "/own", "/ops/Configured"):
            page.goto(address)
            assert wide(page) <= 360, address


def test_the_gallery_shows_them_first_in_the_order_of_the_file(my_ops: Own, mine: Page) -> None:
    mine.goto("/")
    expect(mine.locator(".group h2").first).to_have_text("my_ops.py")
    group = mine.locator(".group").first
    assert group.locator("h3").all_inner_texts() == list(FUNCTIONS)
    for name, word in zip(FUNCTIONS, ("matches", "differs", "matches", "not called yet"), strict=True):
        expect(mine.locator(f"#card-{name} .word")).to_have_text(word, timeout=60_000)
    for name in FUNCTIONS[:2]:
        drawn = mine.locator(f"#card-{name} .spark .forward").get_attribute("d") or ""
        assert re.match(r"M[\d.]+ [\d.]+L", drawn)
    expect(mine.locator("#card-Configured .why")).to_contain_text("config")
    assert violations(mine) == []
    mine.get_by_role("searchbox").fill("not called yet")
    expect(mine.locator(".card h3").first).to_have_text("Configured")


@pytest.mark.nightly
def test_five_hundred_functions_are_shown_at_once_and_measured_meanwhile(tmp_path: Path, browser: Browser) -> None:
    with showing(tmp_path, text=written(MANY)) as server, alone(browser, server.url) as page:
        server.get("/")  # the gallery behind them is drawn
        page.goto("/", wait_until="domcontentloaded")
        expect(page.locator("[id^=card-F]")).to_have_count(500)
        expect(page.locator("#card-F499 .word")).to_have_text("measuring")  # it was not waited for
        expect(page.locator("#card-F0 .word")).to_have_text("matches", timeout=60_000)
        page.get_by_role("searchbox").fill("F499")
        expect(page.locator(".card:visible h3")).to_have_text(["F499"])


def test_two_parameters_of_one_name_say_on_a_phone_whose_they_are(my_ops: Own, mine: Page) -> None:
    mine.set_viewport_size({"width": 360, "height": 740})
    mine.goto("/compare?left=heaviside_sigmoid&right=heaviside_atan")
    for side, title in (("left", "sigmoid"), ("right", "arc tangent")):
        hint = mine.locator(f"[data-control='{side}.alpha'] .hint").first
        expect(hint).to_be_visible()
        expect(hint).to_contain_text(title)
    assert wide(mine) <= 360


def wide(page: Page) -> int:
    """How far the page reaches, in pixels."""
    return int(page.evaluate("() => document.documentElement.scrollWidth"))
