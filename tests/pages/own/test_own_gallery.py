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
from support.saved_files import follows
from support.servers import serving_in_thread

# Its last Function is to be given an object, which is known at once.
FILE = MY_OPS.replace('config.partition(" by ")', "config.parts(x)")
BROKEN = FILE.replace("x**3", "x**")
LONG = "AClampWithANameThatIsLongerThanTheScreenOfAnyTelephoneIsWide"
HELD = "import os, time\nwhile not os.path.exists('go'):\n    time.sleep(0.01)\n"
SCALES = "def forward(ctx, x):\n    return {0} * x\ndef backward(ctx, grad_output):\n    return {0} * grad_output"
MANY = {f"F{i}": SCALES.format(float(i)) for i in range(500)}


def test_a_server_of_the_gallery_alone_says_so_and_follows_nothing(server: str) -> None:
    for method, address in (("GET", "/own"), ("GET", "/events"), ("POST", "/reload")):
        refused = http.request(method, server + address)
        assert refused.status_code == 404
        assert "gradloupe my_ops.py" in refused.json()["detail"]
    assert "Yours" not in http.get(f"{server}/glossary").text


def test_while_the_file_is_imported_a_page_waits_and_goes_on_by_itself(tmp_path: Path, browser: Browser) -> None:
    (tmp_path / "my_ops.py").write_text(HELD + MY_OPS)
    with serving_in_thread("my_ops.py", cwd=tmp_path) as server, alone(browser, server.url) as page:
        page.goto("/own")
        expect(page.get_by_role("heading", name="Your Functions")).to_be_visible()
        expect(page.locator(".lede")).to_contain_text("is being imported")
        (tmp_path / "go").touch()
        shows(page, "/ops/Clamp")


def test_the_gallery_explains_a_file_that_was_never_loaded_shows_its_functions_first_and_follows_it(
    tmp_path: Path, browser: Browser
) -> None:
    file = tmp_path / "my_ops.py"
    with showing(tmp_path, *NO_HURRY, text=BROKEN) as server, alone(browser, server.url) as page:
        page.goto("/")
        expect(page.locator(".amiss")).to_contain_text("my_ops.py, line ")
        assert not page.locator("#card-Clamp").count()
        page.locator(".amiss").get_by_role("link", name="Show where").click()
        expect(page.locator("#main")).to_contain_text("SyntaxError")
        expect(page.locator("#main")).to_contain_text("return x**")
        assert violations(page) == []
        file.write_text(FILE.replace("Clamp", LONG))
        shows(page, f"/ops/{LONG}")
        page.set_viewport_size({"width": 360, "height": 800})
        for address in (f"/ops/{LONG}", "/ops/Configured", "/#yours"):
            page.goto(address)
            assert page.evaluate("() => document.documentElement.scrollWidth") <= 360, address
        expect(page.locator(f"#card-{LONG}")).to_be_in_viewport()
        expect(page.locator(".group h2").first).to_have_text("my_ops.py")
        names = [LONG, *FUNCTIONS[1:]]
        assert page.locator(".group").first.locator("h3").all_inner_texts() == names
        for name, word in zip(names, ("matches", "differs", "matches", "not called yet"), strict=True):
            expect(page.locator(f"#card-{name} .word")).to_have_text(word, timeout=60_000)
        drawn = page.locator("#card-Cube .spark .forward").get_attribute("d") or ""
        assert re.match(r"M[\d.]+ [\d.]+L", drawn)
        expect(page.locator("#card-Configured .why")).to_contain_text("config")
        page.get_by_role("searchbox").fill("not called yet")
        expect(page.locator(".card h3").first).to_have_text("Configured")
        page.get_by_role("searchbox").fill("")
        follows(page)
        file.write_text(FILE)
        expect(page.locator("#card-Clamp")).to_be_visible()
        expect(page.locator(f"#card-{LONG}")).to_have_count(0)


def test_own_leads_to_the_first_function_of_the_file(my_ops: Own, mine: Page) -> None:
    led = my_ops.get("/own")
    assert (led.status_code, led.headers["location"], led.headers["cache-control"]) == (303, "/ops/Clamp", "no-store")
    mine.goto("/own")
    shows(mine, "/ops/Clamp")
    expect(mine.get_by_role("link", name="Yours")).to_have_attribute("href", "/#yours")


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
