"""What the operator chooses: on the command line, in the environment, and what each mistake is answered with."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.command_line import ran
from support.own_worker import SQUARE
from support.servers import HERE
from support.waiting import first_line, written_into

from gradloupe.server.config.settings import OPTIONS, Settings, parse_settings


def chosen(line: str = "", **environment: str) -> Settings:
    return parse_settings(line.split(), environment, "1")


def test_nothing_said_is_this_machine_only() -> None:
    assert chosen() == Settings()
    assert chosen().host == "127.0.0.1"


def test_the_environment_says_what_the_command_line_does_not() -> None:
    said = {"GRADLOUPE_PORT": "81", "GRADLOUPE_LOG": "json", "GRADLOUPE_FRAME_ANCESTORS": "'self' https://a.example"}
    assert chosen(**said) == Settings(port=81, log="json", frame_ancestors="'self' https://a.example")
    assert chosen("--port 82", **said).port == 82
    assert chosen(GRADLOUPE_PORT="", GRADLOUPE_UNKNOWN="", ANOTHER="1") == Settings()


def test_what_kubernetes_says_of_a_service_called_gradloupe_is_not_for_it() -> None:
    port, web = "GRADLOUPE_PORT_80_TCP", "GRADLOUPE_WEB"
    service = {"GRADLOUPE_SERVICE_HOST": "10.0.0.1", "GRADLOUPE_SERVICE_PORT": "80", f"{web}_SERVICE_PORT_HTTP": "80"}
    links = {f"{port}_PROTO": "tcp", f"{port}_PORT": "80", f"{port}_ADDR": "10.0.0.1", port: "tcp://10.0.0.1:80"}
    ports = dict.fromkeys(("GRADLOUPE_PORT", f"{web}_PORT"), "tcp://10.0.0.1:80")
    assert chosen(**service, **links, **ports) == Settings()


def test_names_add_up_and_are_written_as_they_are_compared() -> None:
    said = chosen("--name Loupe.Example.org. --name *.school.example")
    assert said.name == ("loupe.example.org", "*.school.example")
    assert chosen(GRADLOUPE_NAME="a.example, b.example").name == ("a.example", "b.example")


@pytest.mark.parametrize(
    ("given", "url", "root"),
    [
        ("https://Loupe.example.org/", "https://loupe.example.org", ""),
        ("http://[::1]:8000", "http://[::1]:8000", ""),
        ("https://A.example/Tools/gradloupe/", "https://a.example/Tools/gradloupe", "/Tools/gradloupe"),
    ],
)
def test_the_public_address_has_no_slash_at_its_end(given: str, url: str, root: str) -> None:
    assert (chosen(f"--url {given}").url, chosen(f"--url {given}").root) == (url, root)


def test_strangers_get_less_unless_the_operator_says_how_much() -> None:
    public = chosen("--public")
    assert public.deadline < Settings().deadline
    assert public.requests_per_peer < Settings().requests_per_peer
    assert chosen("--public --deadline 7").deadline == 7
    assert (Settings().play, public.play, chosen("--public --play").play) == (True, False, True)
    assert not chosen(GRADLOUPE_PLAY="0").play
    assert chosen(GRADLOUPE_PUBLIC="yes") == public
    assert chosen(GRADLOUPE_PUBLIC="0") == Settings()


def test_whoever_brings_functions_of_her_own_is_served_alone() -> None:
    own = chosen("my_ops.py pkg.kernels:Swish my_ops.py")
    assert own.targets == ("my_ops.py", "pkg.kernels:Swish")
    assert (own.memory, own.loading, own.frame_ancestors, own.next_port) == (4096, 30.0, "'self'", True)
    assert re.fullmatch("[0-9a-f]{32}", own.token)
    assert own.token != chosen("my_ops.py").token
    said = {"GRADLOUPE_PORT": "81", "GRADLOUPE_TOKEN": "a-token-of-mine", "GRADLOUPE_FRAME_ANCESTORS": "*"}
    asked = chosen("my_ops.py --memory 0 --loading 5", **said)
    assert (asked.memory, asked.loading, asked.frame_ancestors, asked.next_port) == (0, 5.0, "*", False)
    assert (asked.port, asked.token) == (81, "a-token-of-mine")


def test_a_report_is_asked_for_with_its_form_and_what_it_allows() -> None:
    asked = chosen("--check a.py --format junit --allow One --allow Two,Three b.py --save-html out.html")
    assert (asked.targets, asked.format, asked.save_html) == (("a.py", "b.py"), "junit", "out.html")
    assert asked.allow == ("One", "Two", "Three")
    assert asked.reports
    assert chosen("a.py --save-html o.htm").reports
    assert not chosen("a.py").reports
    assert chosen("a.py", GRADLOUPE_CHECK="1", GRADLOUPE_FORMAT="json").format == "json"


def test_a_site_is_asked_for_with_its_functions_and_its_sliders() -> None:
    asked = chosen("a.py --publish site --op One --op Two,Three --sliders beta:9")
    assert (asked.publish, asked.op, asked.sliders) == ("site", ("One", "Two", "Three"), "beta:9")
    assert chosen("--publish site").reports  # of the gallery


def test_recipes_go_by_function_and_add_up() -> None:
    first, second = ("Mine", "x: float64[3]; k = 2"), ("a.Mine_2", "like x = 1")
    line = ["a.py", "--recipe", "Mine: x: float64[3]; k = 2", "--recipe", "a.Mine_2:like x = 1"]
    assert parse_settings(line, {}, "1").recipe == (first, second)
    assert chosen("a.py", GRADLOUPE_RECIPE="Mine: x: float64[3]; k = 2\n a.Mine_2 : like x = 1\n").recipe == (
        first,
        second,
    )


MISTAKES = """
    --port 80x | --port -1 | --port 65536 | --port ９ | --deadline 0 | --deadline nan | --deadline inf | --deadline soon
    --url ftp://a.example | --url a.example | --url https://a.example/a//b | --url https://a.example/../b | --url https://a.example/ops/x
    --url https://a.example/docs | --url https://a.example/a%20b | --url https://u:p@a.example
    --url https:// | --url https://a.example?x | --url https://[::1 | --url https://a.example:port
    --name http://a.example | --name a.example:80 | --name -a | --name , | --name a..b
    --frame-ancestors x;y | --frame-ancestors self | --frame-ancestors javascript: | --frame-ancestors https://a/b
    --log loud | --requests-per-peer many | --forwarded-allow-ips proxy | --cache 1.5 | --frobnicate | --port
    --fram * | --check | --save-html a.html | --format json | --allow Foo | --memory 1.5 | --loading never
    --memory 10 | --memory 511 | --memory -1 | --memory 99999999
    --token short | --save-html / | a.py --recipe x:float64[7] | a.py --recipe F | --recipe F:x:float64[7]
    a.py --recipe F:x=1 --recipe F:x=2 | a.py --baseline b.json | a.py --check --write-baseline
    a.py --check --baseline / | a.py --publish /dev/null/x | a.py --publish s --check | a.py --op F | --sliders beta:3
"""


@pytest.mark.parametrize("line", [each.strip() for row in MISTAKES.strip().splitlines() for each in row.split("|")])
def test_a_mistake_is_answered_with_one_sentence(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        chosen(line)
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert said.startswith("gradloupe: ")
    assert said.endswith(".\n")
    assert said.count("\n") == 1
    assert any(each in said for each in line.split() if each.startswith("-"))


@pytest.mark.parametrize(
    ("variable", "near"),
    [
        ("GRADLOUPE_DEADLINE", ""),
        ("GRADLOUPE_PUBLICC", "GRADLOUPE_PUBLIC"),
        ("GRADLOUPE_FRAME-ANCESTORS", "GRADLOUPE_FRAME_ANCESTORS"),
    ],
)
def test_a_mistake_in_the_environment_names_the_variable_and_those_there_are(
    variable: str, near: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        chosen(**{variable: "soon"})
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.split()[1] == variable
    if near:
        first, allowed = said.split("? ")
        assert first.split()[-1] == near
        assert set(re.findall(r"GRADLOUPE_(\w+)", allowed)) == {name.upper() for name in OPTIONS}


def test_the_help_names_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        chosen("--help")
    assert ended.value.code == 0
    helped = capsys.readouterr().out
    assert [name for name in OPTIONS if f"--{name.replace('_', '-')}" not in helped] == []


def test_the_documentation_names_every_option_and_its_default() -> None:
    text = "".join((HERE / "docs" / name).read_text() for name in ("operating.md", "own-functions.md"))
    rows = re.findall(r"^\| (`--.*?) \| (.*?) \|", text, re.MULTILINE)
    named = {name: default for names, default in rows for name in re.findall(r"`--([a-z-]+)`", names)}
    assert {name.replace("-", "_") for name in named} == set(OPTIONS)
    usual = Settings()
    for name, said in (("deadline", usual.deadline), ("requests-per-peer", usual.requests_per_peer)):
        assert float(named[name]) == said
    assert named["frame-ancestors"] == f"`{usual.frame_ancestors}`"
    assert (named["log"], named["cache"]) == (usual.log, str(usual.cache))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a Function of a visitor's."""
    (tmp_path / "my_ops.py").write_text(SQUARE)
    return tmp_path


@contextmanager
def started(folder: Path, *arguments: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process, and the line that it has printed; it is ended with Ctrl-C."""
    with subprocess.Popen(
        [sys.executable, "-m", "gradloupe", *arguments],
        cwd=folder,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield process, first_line(process.stdout)
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(60)
            finally:
                process.kill()


def ended(process: subprocess.Popen[str]) -> str:
    """What it has said on stderr when Ctrl-C has ended it."""
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=60)[1]


# Python throws away what is raised in the callback of a weak reference, and imports have such callbacks.
INTERRUPTED_AT_THE_WEB = """import os, signal, sys, weakref

def interrupt(_=None):
    os.kill(os.getpid(), signal.SIGINT)
    while True: pass

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "uvicorn":
            sys.meta_path.remove(self)
            exec(os.environ["INTERRUPTED"])

sys.meta_path.insert(0, Finder())
"""


@pytest.mark.parametrize(
    ("interrupted", "said"),
    [
        ("weakref.ref(type('T', (), {})(), interrupt)", "Keyboard"),
        pytest.param("exec('interrupt()')", "", marks=pytest.mark.nightly),
    ],
)
def test_ctrl_c_ends_it_with_0_even_where_an_import_is_interrupted(folder: Path, interrupted: str, said: str) -> None:
    (folder / "sitecustomize.py").write_text(INTERRUPTED_AT_THE_WEB)
    environment = {"PYTHONPATH": str(folder), "INTERRUPTED": interrupted}
    with started(folder, "my_ops.py", "--port", "0", **environment) as (process, line):
        assert line.startswith("Gradloupe shows ")
        assert said in process.communicate(timeout=60)[1]
        assert process.returncode == 0


def test_the_line_says_where_it_is_opens_a_browser_there_and_warns_who_listens_to_everybody(folder: Path) -> None:
    os.mkfifo(folder / "asked")
    browser = folder / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {folder}/asked\n')
    browser.chmod(0o755)
    open_ = ("--open", "--host", "0.0.0.0")  # noqa: S104
    with started(folder, "my_ops.py", *open_, BROWSER=f"{browser} %s") as (process, line):
        where = r"(http://127\.0\.0\.1:(\d+)/own#token=[0-9a-f]{32})"
        found = re.fullmatch(rf"Gradloupe shows my_ops\.py at {where} \(.*Ctrl-C ends it\)\n", line)
        assert found is not None
        assert written_into(folder / "asked").strip() == found[1]
        with started(folder, "my_ops.py") as (_, second):  # where the usual port is taken the next free one is
            next_port = re.search(r":(\d+)/own#", second)
            assert next_port is not None
            assert int(next_port[1]) > int(found[2]) >= 8000
            assert "(port 8000 is taken; " in second
        said = " ".join(ended(process).split())
    assert process.returncode == 0
    assert said.startswith("gradloupe: it listens on 0.0.0.0,")
    assert "my_ops.py" in said
    assert f"ssh -L {found[2]}:127.0.0.1:{found[2]} " in said


def test_a_port_that_was_asked_for_is_taken_or_none(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = ran(folder, f"my_ops.py --port {port}")
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"gradloupe cannot listen on 127.0.0.1, port {port}: ")


@pytest.mark.parametrize("shell", ["ulimit -n 12", "exec > /dev/full"])
def test_a_server_that_cannot_open_files_or_say_where_it_is_ends_with_a_sentence(shell: str) -> None:
    command = f'{shell}; exec "{sys.executable}" -m gradloupe --port 0'
    refused = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False, timeout=60)
    assert refused.returncode == 1
    assert re.fullmatch(r"gradloupe [^\n]+\.\n", refused.stderr)


@pytest.mark.parametrize("target", ["nowhere.py", "no_such_package.kernels", ".", "my_ops.py:"])
def test_a_target_that_is_not_there_ends_it_with_a_sentence(folder: Path, target: str) -> None:
    refused = ran(folder, target)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert re.fullmatch(r"gradloupe: [^\n]+[.?]\n", refused.stderr)
