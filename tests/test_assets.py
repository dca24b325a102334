"""Static files: compressed, kept for ever, and nothing but them."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from serving import Server
from wire import connected, read, send


def static_addresses(server: str) -> list[str]:
    pages = "".join(httpx2.get(server + page).text for page in ("/", "/ops/exp", "/docs"))
    return sorted(set(re.findall(r'"(/static/[^"]+)"', pages)))


def test_static_files_are_served_compressed_and_for_ever(server: str) -> None:
    addresses = static_addresses(server)
    assert any(address.endswith("/plotly.min.js") for address in addresses)
    assert any(address.endswith("/highlight.css") for address in addresses)
    for address in addresses:
        accept = {"accept-encoding": "gzip"}
        packed = httpx2.get(server + address, headers=accept)
        assert packed.status_code == 200
        assert packed.headers["content-encoding"] == "gzip"
        assert packed.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert packed.headers["content-type"].split(";")[0] in ("text/css", "text/javascript", "image/svg+xml")
        again = httpx2.get(
            server + address, headers={"accept-encoding": "gzip", "if-none-match": packed.headers["etag"]}
        )
        assert again.status_code == 304


def test_a_static_file_is_the_same_without_compression(server: str) -> None:
    address = next(each for each in static_addresses(server) if each.endswith("/plotly.min.js"))
    plain = httpx2.get(server + address, headers={"accept-encoding": "identity"})
    with httpx2.stream("GET", server + address, headers={"accept-encoding": "gzip"}) as packed:
        raw = b"".join(packed.iter_raw())
    assert gzip.decompress(raw) == plain.content
    assert len(raw) < len(plain.content) / 3


def test_another_stylesheet_of_pygments_has_another_address(house: Path) -> None:
    program = "from gradloupe.server.assets import Assets; print(Assets().address('highlight.css'))"
    command, environment = [sys.executable, "-c", program], os.environ | {"PYTHONPATH": str(house.parent)}
    before = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    highlight = house / "server" / "highlight.py"
    highlight.write_text(highlight.read_text().replace('return f"{_rules(LIGHT)}', 'return f".c {{ color: red }}'))
    after = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert after.endswith("/highlight.css\n")
    assert after != before


@pytest.mark.parametrize(
    "path", ["../pyproject.toml", "%2e%2e/pyproject.toml", "..%2f..%2fops/op.py", "__init__.py", "/etc/passwd", ""]
)
def test_a_static_address_reaches_no_other_file(running: Server, path: str) -> None:
    digest = static_addresses(running.url)[0].split("/")[2]
    with connected(running) as connection:
        send(connection, f"/static/{digest}/{path}")
        assert read(connection)[0] == 404
