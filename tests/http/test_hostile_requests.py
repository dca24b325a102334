"""What strangers send: everything the description of the API allows and forbids, and bytes that nothing allows."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.raw_http import connected, read
from support.servers import Server

# JSON Schema cannot say that start lies below stop, or which elements an op has: a 422 is right for some valid data.
CONFIGURATION = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "404", "422"]
# What the specification of oEmbed wants for a format that there is not.
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", "501"]
"""
NAMED = """
[parameters]
"path.name" = "clamp_with_grad"
"""
# Three names of four that are made up become those of ops.
HOOKS = """
import schemathesis

NAMES = "clamp_with_grad", "image_alpha", "heaviside_sigmoid"

@schemathesis.hook
def map_path_parameters(context, path_parameters):
    if path_parameters and "name" in path_parameters and (which := len(str(path_parameters["name"])) % 4):
        path_parameters["name"] = NAMES[which - 1]
    return path_parameters
"""
# A sample of what each operation is asked, drawn anew from nothing but the seed; the boundaries are all tried.
EXAMPLES = "25"
SHORT_QUERIES = r"""
    %00 %ff=%fe = & &&&& ? min min=1;max=2 min[]=1 min[a]=1 min=% min=%zz min=1&min=1 %6din=1&min=1 min=NaN
    min=-Infinity min=1e999 min=1e-9999 min=../../etc/passwd min=${7*7} min={{7*7}} min='%20or%201=1
    min=%0d%0aSet-Cookie:x min=%ed%a0%80 min=3&max=-3 wrt=__class__ wrt=input[99999999999999999999] wrt=input[-1]
    wrt=[0] count=1e9 count=1000000000 count=-1 count=0x10 count=%EF%BC%91 start=1e308&stop=1.7e308
    start=-1e300&stop=1e300
    start=0&stop=5e-324 dtype=object device=cuda:99 device=meta input=[1] input=nan step=1e-320 step=1e300
    atol=1e300&rtol=1e300 grad_output=1e300 start=-1e300&stop=1e300&grad_output=-1e300&step=1e300 layout=%F0%9F%92%A5
"""
QUERIES = [
    *SHORT_QUERIES.split(),
    "a" * 10_000,
    "min=" + "9" * 5000,
    "min=0" * 2000,
    "wrt=input[" + "0," * 3000 + "0]",
    "input=" + ",".join("1" * 5000),
]
SHORT_PATHS = r"""
    /ops/ /ops// /ops/.json /ops/..%2f..%2fetc.json /ops/%00.json /ops/%ff /ops/exp.json/ //ops/exp.json /ops/exp%2ejson
    /ops/EXP.json /ops/%F0%9F%92%A5 /ops/op.json /ops/__init__.json /static /static/ /static/0 /static//
    /static/%2e%2e/%2e%2e/server/app.py /docs/ /docs/oauth2-redirect /redoc /favicon.ico /.git/config /% /healthz?wait=2
    /healthz?wait=1&wait=1 /healthz?x http://elsewhere.example/ * /\..\.. /ops/exp.json#x /;/ops/exp
"""
PATHS = [
    *SHORT_PATHS.split(),
    "/ops/" + "a" * 60_000,
    "/ops/\u0435xp.json",
]
LINES = (
    b"GET /ops/exp.json HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    b"GET /ops/exp.json HTTP/1.1\r\n\r\n",
    b"GET /ops/exp.json HTTP/1.0\r\n\r\n",
    b"GET /ops/exp.json HTTP/9.9\r\nHost: localhost\r\n\r\n",
    b"GET /ops/exp.json\r\n\r\n",
    b"get /ops/exp.json HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"BREW / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"TRACE / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"CONNECT x:1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"POST /ops/exp.json HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nNaN",
    b"POST /ops/exp.json HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"GET /ops/exp.json HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000000\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nAccept: " + b"a," * 20_000 + b"\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nAccept: \xff\xfe\r\nAccept-Encoding: \xff;q=\xfe\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip;q=1.2.3.4\r\n\r\n",
    b'GET /ops/exp.json HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: ,,,W/,"\r\n\r\n',
    b"GET /ops/exp.json HTTP/1.1\r\nHost: localhost\r\nRange: bytes=0-0,-1,5-2\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 70_000 + b"\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nBad Header: 1\r\n\r\n",
    b"GET / HTTP/1.1\nHost: localhost\n\n",
    b"GET \xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x00" * 1000,
)


def get(target: str) -> bytes:
    return f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()


HOSTILE = [
    *(get(f"/ops/clamp_with_grad{kind}?{query}") for query in QUERIES for kind in ("", ".json", ".csv")),
    *map(get, PATHS),
    *LINES,
]


@pytest.mark.nightly
@pytest.mark.parametrize("phases", ["examples,coverage", "fuzzing"])
def test_what_the_description_allows_and_forbids_is_answered_as_described(
    server: str, tmp_path: Path, phases: str
) -> None:
    (tmp_path / "schemathesis.toml").write_text(CONFIGURATION + (NAMED if phases != "fuzzing" else ""))
    (tmp_path / "hooks.py").write_text(HOOKS)
    command = [Path(sys.executable).with_name("schemathesis"), "run", "--phases", phases, "--max-examples", EXAMPLES]
    options = ["--seed", "7", "--no-color", "--request-timeout", "60"]
    options += ["--header", f"Origin: {server}", f"{server}/openapi.json"]
    environment = os.environ | {"SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": str(tmp_path)}
    line = [*command, *options]
    ran = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=500)
    assert ran.returncode == 0, ran.stdout
    assert re.search(r"([1-9]\d*) selected / \1 total", ran.stdout)


def test_no_hostile_request_makes_a_fault(running: Server) -> None:
    statuses = []
    for request in HOSTILE:
        with connected(running) as connection:
            connection.sendall(request)
            status, _, body = read(connection)
        assert status < 500, (request[:200], body)
        if body.startswith(b'{"type": "about:blank"'):
            assert json.loads(body)["status"] == status
        statuses.append(status)
    assert statuses.count(400) + statuses.count(404) + statuses.count(405) + statuses.count(422) >= 150
    assert running.get("/ops/exp.json").status_code == 200
