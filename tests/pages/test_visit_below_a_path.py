"""A visit to a site under a path of its host, behind an nginx that takes the path off and has nothing else."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Response, expect
from support.browser import alone, drag, shows
from support.embedding_site import hosting, visiting
from support.nginx import free_port, nginx_running
from support.own_server import MY_OPS
from support.servers import serving_in_thread

pytestmark = pytest.mark.release

ROOT = "/tools/gradloupe"
CONFIG = """
pid {folder}/nginx.pid;
error_log stderr warn;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        location {root}/ {{
            proxy_pass {server}/;
            proxy_set_header Host $http_host;
        }}
    }}
}}
"""


@contextmanager
def serving_below(folder: Path, *arguments: str) -> Iterator[str]:
    """The host, whose every other address is a 404."""
    port = free_port()
    host = f"http://127.0.0.1:{port}"
    with serving_in_thread(*arguments, "--url", f"{host}{ROOT}/", "--requests-per-peer", "0", cwd=folder) as server:
        server.wait_until_ready()
        config = CONFIG.format(folder=folder, port=port, server=server.url, root=ROOT)
        with nginx_running(folder, config, port):
            yield host


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The gallery."""
    with serving_below(tmp_path_factory.mktemp("nginx")) as host:
        yield host


@pytest.fixture
def visit(browser: Browser, site: str) -> Iterator[Page]:
    """A page of the site on which nothing may be missing."""
    missing: list[str] = []

    def note(response: Response) -> None:
        if response.status >= 400:
            missing.append(f"{response.status}: {response.url}")

    with alone(browser, site) as page:
        page.on("response", note)
        yield page
        page.remove_listener("response", note)
    assert missing == []


def test_a_visitor_finds_everything_under_the_path(visit: Page, site: str) -> None:
    visit.goto(f"{ROOT}/ops/clamp_with_grad?view=jacobian")
    shows(visit, "/ops/clamp_with_grad?view=jacobian")
    for link in ("#svg", "#compare", "#companion-csv", ".term"):
        assert (visit.locator(link).first.get_attribute("href") or "").startswith(f"{ROOT}/")
    drag(visit, visit.get_by_role("slider", name="max"), 0.9)
    expect(visit).to_have_url(re.compile(f"^{site}{ROOT}/ops/clamp_with_grad\\?max="))


def test_what_is_shared_has_the_whole_address_and_a_preview(window: Page, visit: Page, site: str) -> None:
    visit.goto(f"{ROOT}/ops/cube")
    shows(visit, "/ops/cube")
    visit.get_by_role("button", name="Share").click()
    expect(visit.frame_locator(".preview iframe:not(.coming)").locator("html[data-ready]")).to_be_attached()
    visit.get_by_role("radio", name="Web component", exact=True).press("Space")
    text = visit.get_by_role("textbox", name="What to paste").input_value()
    assert f"{site}{ROOT}/grad-loupe.js" in text
    with hosting(site) as host, visiting(window, host, text) as page:
        expect(page.frame_locator("grad-loupe iframe").locator("html")).to_have_attribute("data-ready", "/ops/cube")


@pytest.mark.nightly
def test_saves_are_followed_under_the_path_and_the_gallery_is_searched(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "my_ops.py").write_text(MY_OPS)
    with serving_below(tmp_path, "my_ops.py") as host, alone(browser, host) as page:
        page.goto(f"{ROOT}/own")
        shows(page, "/ops/Clamp")
        assert page.url == f"{host}{ROOT}/ops/Clamp"
        (tmp_path / "my_ops.py").write_text(MY_OPS.replace("Between its bounds", "Within its bounds"))
        expect(page.locator(".prose")).to_contain_text("Within its bounds")
        page.goto(f"{ROOT}/embed/Clamp")
        shows(page, "/ops/Clamp")
        (tmp_path / "my_ops.py").write_text(MY_OPS.replace("Between its bounds", "Inside of its bounds"))
        expect(page.locator("body")).to_contain_text("Inside of its bounds")
        page.goto(f"{ROOT}/")
        page.get_by_role("searchbox").fill("clipped")
        expect(page).to_have_url(f"{host}{ROOT}/?q=clipped")
