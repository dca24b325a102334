"""A script is served with all that it imports, and each module runs once."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser
from support.browser import visitor

from gradloupe.server.html.script_bundle import bundled_script

MODULES = {
    "pages/one.js": 'import { twice as double } from "../number.js";\n'
    'export const six = double(3);\nexport const more = () => import("../views/two.js");',
    "views/two.js": 'import { twice } from "../number.js";\nexport const eight = twice(4);\nexport { };',
    "number.js": "export function twice(value) {\n  return 2 * value;\n}",
}


def test_a_script_comes_with_all_that_it_imports() -> None:
    script = bundled_script("pages/one.js", MODULES.__getitem__)
    assert script.index("function twice") < script.index("const { twice: double } = modules[")
    assert 'import("../views/two.js")' in script
    assert script.endswith('export const { six, more } = modules["pages/one.js"];\n')


def test_what_pages_share_is_a_file_of_its_own() -> None:
    script = bundled_script("pages/one.js", MODULES.__getitem__, shared="number.js")
    assert script.startswith('import "../number.js";')
    assert "function twice" not in script


def test_an_import_in_another_form_is_refused() -> None:
    with pytest.raises(ValueError, match=r"views/two\.js: export \{ \};: write import"):
        bundled_script("views/two.js", MODULES.__getitem__)


def test_modules_that_import_each_other_are_refused() -> None:
    circle = {"a.js": 'import { b } from "./b.js";', "b.js": 'import { a } from "./a.js";'}
    with pytest.raises(ValueError, match=r"a\.js"):
        bundled_script("a.js", circle.__getitem__)


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
    [("/ops/exp", 8), ("/embed/exp", 8), ("/compare?left=sinh&right=sinh_on_ctx", 8), ("/ops/exp?view=descent", 12)],
)
def test_a_page_asks_for_few_files(browser: Browser, server: str, address: str, most: int) -> None:
    with visitor(browser, server) as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(address, wait_until="networkidle")
        page.locator("html[data-ready]").wait_for()
        assert len(asked) <= most
