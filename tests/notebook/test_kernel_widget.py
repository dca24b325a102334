"""In a notebook that somebody runs the figure is a widget: its controls ask the kernel, a real one, and no server."""

from collections.abc import Iterator
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import start_new_kernel
from playwright.sync_api import Browser, FrameLocator, Page, expect
from support.browser import visitor
from support.written_functions import BENT

VIEW = "application/vnd.jupyter.widget-view+json"
# What a front end does: the module comes from the model, and what is sent goes to the kernel.
RENDER = """async ([state]) => {
  const heard = {};
  const model = {
    get: (name) => state[name],
    on: (event, hear) => { heard[event] = hear; },
    off: (event) => { delete heard[event]; },
    async send(content) {
      const [reply, body] = await kernel(content);
      heard["msg:custom"](reply, [new DataView(new TextEncoder().encode(body).buffer)]);
    },
  };
  const url = URL.createObjectURL(new Blob([state._esm], { type: "text/javascript" }));
  const el = document.body.appendChild(document.createElement("div"));
  await (await import(url)).default.render({ model, el });
}"""


class Kernel:
    """A kernel that has run the cell: what it showed, the state of its widget, and the way to ask that."""

    def __init__(self, client: BlockingKernelClient, somebody: bool) -> None:
        self._client, heard = client, list[Any]()
        client.execute_interactive(
            f"{BENT}\ngradloupe.look(Bent)", output_hook=heard.append, allow_stdin=somebody, timeout=120
        )
        (self.shown,) = (each["content"]["data"] for each in heard if each["msg_type"] == "execute_result")
        opened = [each["content"] for each in heard if each["msg_type"] == "comm_open"]
        self.widgets = [each for each in opened if "page" in each["data"]["state"]]

    def say(self, content: Any) -> None:
        """Send this to the widget."""
        data = {"method": "custom", "content": content}
        sent = self._client.session.msg("comm_msg", {"comm_id": self.widgets[0]["comm_id"], "data": data})
        self._client.shell_channel.send(sent)

    def ask(self, content: Any) -> tuple[Any, str]:
        """What the widget sends back, and the text of its buffer."""
        self.say(content)
        while (reply := self._client.get_iopub_msg(timeout=60))["msg_type"] != "comm_msg":
            assert reply["msg_type"] == "status", reply["content"]
        return reply["content"]["data"]["content"], bytes(reply["buffers"][0]).decode()


@pytest.fixture(scope="module")
def client() -> Iterator[BlockingKernelClient]:
    manager, client = start_new_kernel(kernel_name="python3")
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def kernel(client: BlockingKernelClient) -> Kernel:
    return Kernel(client, somebody=True)


def test_somebody_who_runs_a_cell_gets_a_widget_and_beside_it_a_picture_for_when_the_kernel_is_gone(
    kernel: Kernel,
) -> None:
    assert VIEW in kernel.shown
    assert len(kernel.shown["text/html"]) < 300_000
    assert kernel.shown["text/plain"].startswith("Bent: differs")
    assert len(kernel.widgets) == 1


def test_a_program_that_runs_a_notebook_gets_the_file_that_needs_no_kernel(
    client: BlockingKernelClient,
) -> None:
    ran = Kernel(client, somebody=False)
    assert VIEW not in ran.shown
    assert ran.widgets == []
    assert "data-slider=&#34;steepness&#34;" in ran.shown["text/html"]


def test_what_cannot_be_asked_is_a_sentence_and_what_is_no_question_is_not_answered(kernel: Kernel) -> None:
    for noise in (None, [], {"id": 1, "address": 2}, {"id": "0"}):
        kernel.say(noise)
    reply, problem = kernel.ask({"id": "1", "address": "/ops/Bent.page.json?steep=2"})
    assert (reply["id"], reply["ok"], reply["status"]) == ("1", False, 422)
    assert "'steep' is not a parameter of this address" in problem
    reply, problem = kernel.ask({"id": "2", "address": f"/ops/Bent.page.json?steepness={'9' * 10**6}"})
    assert (reply["id"], reply["status"]) == ("2", 422)


@pytest.fixture
def cell(browser: Browser, kernel: Kernel) -> Iterator[FrameLocator]:
    """The figure in the page of a front end that is joined to the kernel, asks for nothing else, and may not fail."""
    with visitor(browser, "http://127.0.0.1") as page:
        wrong, asked = list[str](), list[str]()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.on("request", lambda request: asked.append(request.url))
        page.expose_function("kernel", kernel.ask)
        page.evaluate(RENDER, [kernel.widgets[0]["data"]["state"]])
        yield page.frame_locator("grad-loupe iframe")
        assert wrong == []
        assert [url for url in asked if not url.startswith(("blob:", "data:", "about:"))] == []


def test_a_slider_that_is_moved_asks_the_kernel_wherever_it_stands(cell: FrameLocator) -> None:
    html = cell.locator("html")
    expect(html).to_have_attribute("data-ready", "/ops/Bent", timeout=30_000)
    field = cell.locator("#field-steepness")
    field.fill("1.37")
    field.press("Tab")
    expect(html).to_have_attribute("data-ready", "/ops/Bent?steepness=1.37")
    cell.get_by_role("button", name="Flip sign").click()
    expect(html).to_have_attribute("data-ready", "/ops/Bent?steepness=1.37&grad_output=-1")
    expect(cell.locator("#verdict .word")).to_have_text("differs")
    field.fill("nothing")
    field.press("Tab")
    expect(cell.locator("#trouble")).to_contain_text("steepness")


def test_the_widget_is_as_high_as_its_figure(cell: FrameLocator) -> None:
    expect(cell.locator("html")).to_have_attribute("data-ready", "/ops/Bent", timeout=30_000)
    frame = cell.owner
    page: Page = frame.page
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        expect(frame).not_to_have_css("height", "560px")
        inside = cell.locator("html")
        expect(inside).to_have_js_property("scrollHeight", int(frame.evaluate("e => e.clientHeight")))
