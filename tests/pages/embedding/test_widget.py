"""The module in the form of anywidget, in the page of a host that speaks its protocol, as MyST does."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from support import http
from support.embedding_site import Host, hosting, visiting

# What MyST does with a directive {anywidget}: the JSON of its body is the model, and there is nobody to send to.
RENDER = """async ([module, said]) => {
  const heard = {};
  const model = {
    get: (name) => said[name],
    set: (name, value) => { said[name] = value; heard[`change:${name}`]?.(); },
    on: (event, hear) => { heard[event] = hear; },
    off: (event) => { delete heard[event]; },
    save_changes() {}, send() {},
  };
  const el = document.querySelector("#here");
  const ends = await (await import(module)).default.render({ model, el });
  Object.assign(globalThis, { model, ends, left: () => Object.keys(heard).length });
}"""


def test_the_module_is_that_of_the_element_and_exports_the_widget(server: str) -> None:
    element, widget = (http.get(f"{server}/grad-loupe.{ending}").text for ending in ("js", "mjs"))
    assert widget.startswith(element)
    assert "export default { render };" in widget.removeprefix(element)


@pytest.fixture(scope="module")
def notebook(server: str) -> Iterator[Host]:
    with hosting(server, strict=False) as host:
        yield host


def test_a_host_of_widgets_shows_a_figure_by_its_words_and_takes_it_away(
    window: Page, server: str, notebook: Host
) -> None:
    with visiting(window, notebook, '<div id="here"></div>') as page:
        said = {"op": "clamp_with_grad", "query": "min=-2&hide=title", "height": 500}
        page.evaluate(RENDER, [f"{server}/grad-loupe.mjs", said])
        frame = page.frame_locator("grad-loupe iframe").locator("html")
        expect(frame).to_have_attribute("data-ready", "/ops/clamp_with_grad?min=-2", timeout=20_000)
        page.evaluate("model.set('op', 'exp'); model.set('query', 'grad_output=-1')")
        expect(frame).to_have_attribute("data-ready", "/ops/exp?grad_output=-1", timeout=20_000)
        page.evaluate("ends()")
        expect(page.locator("grad-loupe")).to_have_count(0)
        assert page.evaluate("left()") == 0
