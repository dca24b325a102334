import json
import os
import re
import subprocess
import sys
from pathlib import Path
from time import process_time

import pytest
from support import http
from support.raw_http import connected, read, send
from support.servers import HERE, Server, serving_in_thread

from gradloupe.server.html.assets import Assets, bundle


def static_addresses(server: str) -> list[str]:
    pages = "".join(http.get(server + page).text for page in ("/", "/ops/exp", "/docs"))
    return sorted(set(re.findall(r'"(/static/[^"]+)"', pages)))


def test_static_files_are_served_compressed_and_for_ever(server: str) -> None:
    addresses = static_addresses(server)
    assert any(re.search(r"/plotly[a-z-]*\.min\.js$", address) for address in addresses)
    assert any(address.endswith("/pages/op.css") for address in addresses)
    for address in addresses:
        accept = {"accept-encoding": "gzip"}
        packed = http.get(server + address, headers=accept)
        assert packed.status_code == 200
        assert packed.headers["content-encoding"] == "gzip"
        assert packed.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert packed.headers["content-type"].split(";")[0] in ("text/css", "text/javascript", "image/svg+xml")
        again = http.get(server + address, headers={"accept-encoding": "gzip", "if-none-match": packed.headers["etag"]})
        assert again.status_code == 304


def test_another_stylesheet_has_another_address_and_without_the_light_bundles_there_is_the_full_one(
    package_copy: Path,
) -> None:
    def printed(what: str) -> str:
        """What a program prints that imports the copy where no light bundles are installed."""
        program = f"import sys; sys.prefix = '/nowhere'\nfrom gradloupe.server.html.assets import Assets\nprint({what})"
        environment, command = os.environ | {"PYTHONPATH": str(package_copy.parent)}, [sys.executable, "-c", program]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    style = "Assets().address('pages/op.css')"
    curves, maps, before = printed(f"*map(Assets().plotly, ('curves', 'maps')), {style}").split()
    assert curves == maps
    assert curves.endswith("/plotly.min.js")
    highlight = package_copy / "server" / "html" / "op_markup.py"
    highlight.write_text(highlight.read_text().replace('return f"{_rules(_LIGHT)}', 'return f".c {{ color: red }}'))
    after = printed(style).strip()
    assert after.endswith("/pages/op.css")
    assert after != before


def test_scripts_are_minified_and_one_that_has_changed_since_is_served_as_it_is(package_copy: Path) -> None:
    script = "js/pages/op.js"
    assert len(Assets().read(script)) < 0.8 * len(bundle(script))  # without it make test
    (package_copy / "static" / script).write_text("export const changed = true;\n")
    program = f"from gradloupe.server.html.assets import Assets\nprint(Assets().read('{script}').decode())"
    environment = os.environ | {"PYTHONPATH": str(package_copy.parent)}
    told = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert "const changed = true;\n" in told.stdout


def test_the_code_editor_is_a_module_with_its_licences_that_evaluates_nothing() -> None:
    code = Assets().read(Assets().editor.rpartition("/")[2]).decode()
    assert re.search(r"export\{\w+ as codeEditor\}", code)
    assert "eval(" not in code
    assert "new Function" not in code
    assert "Marijn Haverbeke" in (Path(sys.prefix) / "share/gradloupe/editor/LICENSES").read_text()


@pytest.mark.parametrize(
    "path", ["../pyproject.toml", "%2e%2e/pyproject.toml", "..%2f..%2fops/op.py", "__init__.py", "/etc/passwd", ""]
)
def test_a_static_address_reaches_no_other_file(running: Server, path: str) -> None:
    digest = static_addresses(running.url)[0].split("/")[2]
    with connected(running) as connection:
        send(connection, f"/static/{digest}/{path}")
        assert read(connection)[0] == 404


def test_an_address_from_before_a_change_leads_to_the_present_file(server: str) -> None:
    address = next(each for each in static_addresses(server) if each.endswith("/js/pages/op.js"))
    before = re.sub("/static/[0-9a-f]+/", "/static/0123456789ab/", address)
    led = http.get(server + before, headers={"origin": "null"})
    assert (led.status_code, led.headers["location"]) == (307, address)
    assert led.headers["cache-control"] == "no-store"
    assert led.headers["access-control-allow-origin"] == "*"
    assert http.get(server + before, follow_redirects=True).content == http.get(server + address).content


def test_the_first_visitor_does_not_wait_for_the_largest_file() -> None:
    with serving_in_thread() as server:
        digest = static_addresses(server.url)[0].split("/")[2]
        busy = process_time()
        first = http.get(f"{server.url}/static/{digest}/plotly.min.js", headers={"accept-encoding": "br"})
        assert first.headers["content-encoding"] == "br"
        assert process_time() - busy < 2  # compressing it takes longer


def version(bundle: bytes) -> str:
    found = re.search(rb"plotly\.js (?:\([a-z -]+\) )?v([0-9.]+)", bundle[:400])
    assert found is not None
    return found[1].decode()


def test_the_light_bundles_are_installed_and_of_the_version_of_the_wheel(server: str) -> None:
    wanted = json.loads((HERE / "package.json").read_text())["dependencies"]
    locked = json.loads((HERE / "package-lock.json").read_text())["packages"]
    addresses = re.findall(r'data-plotly-\w+="([^"]+)"', http.get(f"{server}/ops/exp").text)
    assert len(addresses) == 2
    for address in addresses:
        folder, name = address.rsplit("/", 1)
        assert name != "plotly.min.js"  # which is there without them: make test
        full, bundle = http.get(f"{server}{folder}/plotly.min.js").content, http.get(server + address).content
        package = f"plotly.js-{name.removeprefix('plotly-').removesuffix('.min.js')}-dist-min"
        assert version(bundle) == version(full) == wanted[package] == locked[f"node_modules/{package}"]["version"]
        assert len(bundle) < len(full) / 3


def test_the_lock_names_no_registry_and_proves_what_it_gets() -> None:
    lock = (HERE / "package-lock.json").read_text()
    assert "://" not in lock
    packages, wanted = json.loads(lock)["packages"], json.loads((HERE / "package.json").read_text())
    for name, version in (wanted["dependencies"] | wanted["devDependencies"]).items():
        assert packages[f"node_modules/{name}"]["version"] == version
    assert all("integrity" in package for name, package in packages.items() if name)
