"""What the operator chooses: on the command line, in the environment, and what each mistake is answered with."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from serving import HERE, serving

from gradloupe.server.settings import OPTIONS, Settings, settings


def chosen(line: str = "", **environment: str) -> Settings:
    return settings(line.split(), environment, "1")


def test_nothing_said_is_this_machine_only() -> None:
    assert chosen() == Settings()
    assert chosen().host == "127.0.0.1"


def test_the_environment_says_what_the_command_line_does_not() -> None:
    said = {"GRADLOUPE_PORT": "81", "GRADLOUPE_LOG": "json", "GRADLOUPE_FRAME_ANCESTORS": "'self' https://a.example"}
    assert chosen(**said) == Settings(port=81, log="json", frame_ancestors="'self' https://a.example")
    assert chosen("--port 82", **said).port == 82
    assert chosen(GRADLOUPE_PORT="", GRADLOUPE_UNKNOWN="1") == Settings()


def test_what_kubernetes_calls_a_port_is_not_taken_for_one() -> None:
    assert chosen(GRADLOUPE_PORT="tcp://10.0.0.1:80").port == 8000


def test_names_add_up_and_are_written_as_they_are_compared() -> None:
    said = chosen("--name Loupe.Example.org. --name *.school.example")
    assert said.names == ("loupe.example.org", "*.school.example")
    assert chosen(GRADLOUPE_NAME="a.example, b.example").names == ("a.example", "b.example")


def test_the_public_address_has_no_slash_at_its_end() -> None:
    assert chosen("--url https://Loupe.example.org/").url == "https://loupe.example.org"
    assert chosen("--url http://[::1]:8000").url == "http://[::1]:8000"


def test_strangers_get_less_unless_the_operator_says_how_much() -> None:
    public = chosen("--public")
    assert public.deadline < Settings().deadline
    assert public.requests_per_peer < Settings().requests_per_peer
    assert chosen("--public --deadline 7").deadline == 7
    assert chosen(GRADLOUPE_PUBLIC="yes") == public
    assert chosen(GRADLOUPE_PUBLIC="0") == Settings()


MISTAKES = """
    --port 80x | --port -1 | --port 65536 | --port ９ | --deadline 0 | --deadline nan | --deadline inf | --deadline soon
    --url ftp://a.example | --url a.example | --url https://a.example/path | --url https://u:p@a.example
    --url https:// | --url https://a.example?x | --url https://[::1 | --url https://a.example:port
    --name http://a.example | --name a.example:80 | --name -a | --name , | --name a..b
    --frame-ancestors x;y | --frame-ancestors self | --frame-ancestors javascript: | --frame-ancestors https://a/b
    --log loud | --requests-per-peer many | --forwarded-allow-ips proxy | --cache 1.5 | --frobnicate | --port
    --fram * | stray.py
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
    assert line.split()[0] in said


def test_a_mistake_in_the_environment_names_the_variable(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        chosen(GRADLOUPE_DEADLINE="soon")
    assert capsys.readouterr().err.startswith("gradloupe: GRADLOUPE_DEADLINE must be a number of seconds")


def test_the_help_names_every_option() -> None:
    ran = subprocess.run([sys.executable, "-m", "gradloupe", "--help"], capture_output=True, text=True, check=True)
    for name in OPTIONS:
        assert f"--{name.replace('_', '-')}" in ran.stdout


def test_the_readme_names_every_option_and_its_default() -> None:
    rows = re.findall(r"^\| (`--.*?) \| (.*?) \|", (HERE / "README.md").read_text(), re.MULTILINE)
    named = {name: default for names, default in rows for name in re.findall(r"`--([a-z-]+)`", names)}
    assert {name.replace("-", "_") for name in named} == set(OPTIONS)
    usual = Settings()
    for name, said in (("deadline", usual.deadline), ("requests-per-peer", usual.requests_per_peer)):
        assert float(named[name]) == said
    assert named["frame-ancestors"] == f"`{usual.frame_ancestors}`"
    assert (named["log"], named["cache"]) == (usual.log, str(usual.cache))


def test_who_may_frame_a_figure_is_what_the_operator_says() -> None:
    with serving("--frame-ancestors", "'self' https://school.example") as server:
        server.wait_until_ready()
        embed, page = server.get("/embed/exp").headers, server.get("/ops/exp").headers
        assert embed["content-security-policy"].endswith("frame-ancestors 'self' https://school.example")
        assert page["content-security-policy"].endswith("frame-ancestors 'self'")


def test_the_public_address_is_what_pages_say_they_are_at() -> None:
    with serving("--url", "https://loupe.example.org") as server:
        server.wait_until_ready()
        assert "https://loupe.example.org/ops/exp" in server.get("/ops/exp").text
