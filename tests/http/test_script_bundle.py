import re

import pytest
from playwright.sync_api import Browser
from support.browser import visitor

from gradloupe.server.html.assets import bundle

PAGES = ("op", "embed", "compare", "gallery", "docs", "play", "waiting")


@pytest.mark.parametrize("page", PAGES)
def test_a_script_comes_with_all_that_it_imports_and_what_pages_share_is_a_file_of_its_own(page: str) -> None:
    script = bundle(f"js/pages/{page}.js")
    shared = re.findall(r'^import "../([^"]+)";', script, re.MULTILINE)
    assert len(shared) <= 1
    text = "".join(bundle(f"js/{each}") for each in shared) + script
    made: set[str] = set()
    for used, ran in re.findall(r'\} = modules\["([^"]+)"\]|^modules\["([^"]+)"\] \?\?=', text, re.MULTILINE):
        assert not used or used in made
        assert ran not in made
        made |= {ran} - {""}
    assert f"js/pages/{page}.js" in made
    assert not re.search(r"^(import \{|import \w|export [^c])", script, re.MULTILINE)
    assert "from " not in "".join(re.findall(r"^(?:im|ex)port.*", script, re.MULTILINE))


def test_a_module_in_two_files_runs_once(browser: Browser, server: str) -> None:
    with visitor(browser, server) as page:
        page.goto("/ops/exp")
        page.locator("html[data-ready]").wait_for()
        (address,) = set(re.findall(r'src="(/static/\w+/js)/pages/op\.js"', page.content()))
        same = """async (files) => {
          const [one, other] = [window.gradloupeModules["js/dom.js"].h, (await import(`${files}/dom.js`)).h];
          return one === other;
        }"""
        assert page.evaluate(same, address)


@pytest.mark.parametrize(
    ("address", "most"),
    [
        ("/embed/exp", 8),
        ("/ops/exp?view=descent", 12),
        pytest.param("/ops/exp", 8, marks=pytest.mark.nightly),
        pytest.param("/compare?left=sinh&right=sinh_on_ctx", 8, marks=pytest.mark.nightly),
    ],
)
def test_a_page_asks_for_few_files(browser: Browser, server: str, address: str, most: int) -> None:
    with visitor(browser, server) as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(address, wait_until="networkidle")
        page.locator("html[data-ready]").wait_for()
        assert len(asked) <= most
