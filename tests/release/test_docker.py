"""The image is built from clean instructions, runs without privileges, and holds nothing but the app."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.error import HTTPError

import pytest
import yaml
from support.servers import HERE, serving_in_thread, torch_loading

from gradloupe.server.config import OPTION_GROUPS, OPTIONS, parse_settings

pytestmark = pytest.mark.release

ROOT = HERE
DOCKERFILE = (ROOT / "Dockerfile").read_text()
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICE = COMPOSE["services"]["gradloupe"]
SERVING = ("gradloupe", "own", "replica")
OF_THE_CONTAINER = {"host", "port", "open"}


def instructions():
    """The Dockerfile's instructions as (keyword, arguments), continued lines joined, comments left out."""
    lines = "\n".join(line for line in DOCKERFILE.splitlines() if not line.startswith("#"))
    joined = lines.replace("\\\n", " ")
    return [tuple(line.split(maxsplit=1)) for line in joined.splitlines() if line.strip()]


def last(keyword):
    return [arguments for word, arguments in instructions() if word == keyword][-1]


def allowed():
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in lines
    return {line[1:] for line in lines if line.startswith("!")}


def test_hadolint_finds_nothing_to_say():
    hadolint = Path(sys.executable).with_name("hadolint")
    run = subprocess.run([hadolint, ROOT / "Dockerfile"], capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_the_image_does_not_run_as_root():
    uid, gid = last("USER").split(":")
    assert int(uid) >= 10000
    assert int(gid) >= 10000
    words = [word for word, _ in instructions()]
    assert words.index("USER") > len(words) - 1 - words[::-1].index("RUN")


def environment():
    """What the last stage sets."""
    stages = [word for word, _ in instructions()]
    final = instructions()[len(stages) - 1 - stages[::-1].index("FROM") :]
    return dict(pair.split("=", 1) for word, arguments in final if word == "ENV" for pair in arguments.split())


def test_the_server_is_the_first_process_and_gets_its_signals():
    assert json.loads(last("ENTRYPOINT")) == ["gradloupe"]
    assert "CMD" not in [word for word, _ in instructions()]


@pytest.mark.parametrize("arguments", [[], ["my_ops.py"], ["package.kernels:Mine", "--memory", "2048"]])
def test_what_stands_after_the_image_is_told_to_a_server_that_can_be_reached(arguments):
    chosen = parse_settings(arguments, environment(), "1")
    assert (chosen.host, chosen.port) == ("0.0.0.0", 8000)  # noqa: S104
    assert chosen.targets == tuple(arguments[:1])
    assert not chosen.next_port, "the port that is published is no other"


def test_files_are_looked_for_where_the_readme_mounts_them():
    words = [word for word, _ in instructions()]
    assert last("WORKDIR") == "/work"
    assert words.index("USER") > len(words) - 1 - words[::-1].index("WORKDIR"), "the folder is not the user's"
    for text in (DOCKERFILE, (ROOT / "README.md").read_text()):
        assert 'docker run --rm -p 127.0.0.1:8000:8000 -v "$PWD:/work:ro" gradloupe my_ops.py' in text


def test_the_health_check_is_passed_once_torch_is_loaded_at_the_port_that_was_chosen(running, monkeypatch):
    options, command = last("HEALTHCHECK").split("CMD", 1)
    program, *_, question = json.loads(command)
    assert "--start-period" in options
    assert program == "python"
    with torch_loading(running) as loaded, serving_in_thread() as server:
        monkeypatch.setenv("GRADLOUPE_PORT", server.url.rpartition(":")[2])
        with pytest.raises(HTTPError) as refused:
            exec(question)  # noqa: S102
        assert refused.value.code == 503
        refused.value.close()
        loaded()
        server.wait_until_ready()
        exec(question)  # noqa: S102


def test_the_dockerfile_has_one_base_and_asks_for_no_builder_extension():
    assert [arguments.split()[0] for word, arguments in instructions() if word == "FROM"] == ["python:3.11-slim"] * 3
    assert "<<" not in DOCKERFILE
    assert "--link" not in DOCKERFILE


def test_the_light_bundles_come_from_the_lock_and_can_be_left_out():
    assert ("ARG", "PLOTLY=light") in instructions()
    (light,) = [arguments for word, arguments in instructions() if word == "RUN" and "npm ci" in arguments]
    assert "--ignore-scripts" in light
    assert 'if [ "$PLOTLY" = light ]' in light
    assert "--from=light /light/plotly /venv/share/gradloupe/plotly" in DOCKERFILE
    assert last("USER") == "10001:10001"


@pytest.mark.parametrize("name", ["Dockerfile", "compose.yaml", ".dockerignore"])
def test_no_file_names_a_host_but_this_machine(name):
    assert set(re.findall(r"\w+://([\w.-]+)", (ROOT / name).read_text())) <= {"127.0.0.1"}


def test_the_extra_package_index_is_empty_unless_the_operator_names_one():
    assert 'ARG EXTRA_INDEX=""' in DOCKERFILE
    for name in SERVING:
        args = COMPOSE["services"][name]["build"]["args"]
        assert args == {"EXTRA_INDEX": "${EXTRA_INDEX:-}", "PLOTLY": "${PLOTLY:-light}"}


def test_the_image_is_given_every_package_and_what_the_build_reads():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = project["tool"]["setuptools"]["packages"]
    folders = {name.split(".")[1] for name in packages if "." in name}
    assert allowed() >= folders | {
        "pyproject.toml",
        "requirements.txt",
        "package.json",
        "package-lock.json",
        project["project"]["readme"],
    }


def test_the_image_is_given_no_tests_documentation_history_or_environment():
    assert not allowed() & {"tests", "docs", ".git", ".venv", ".ci", "build"}


def test_compose_serves_this_machine_only():
    published = {name: service.get("ports", []) for name, service in COMPOSE["services"].items()}
    itself = ["127.0.0.1:8000:8000"]
    assert published == {"gradloupe": itself, "own": itself, "replica": [], "nginx": ["127.0.0.1:8080:8080"]}


@pytest.mark.parametrize("name", [*SERVING, "nginx"])
def test_compose_takes_every_privilege_away_and_bounds_what_is_used(name):
    service = COMPOSE["services"][name]
    assert service["logging"] == {"driver": "json-file", "options": {"max-size": "10m", "max-file": "3"}}
    assert service["read_only"] is True
    assert "/tmp" in service["tmpfs"]  # noqa: S108
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["mem_limit"]
    assert service["pids_limit"] <= 256
    assert "privileged" not in service
    if name != "nginx":
        assert service["init"] is True
        assert service["mem_limit"] == "3g"


def test_nginx_and_those_behind_it_and_an_own_file_are_started_only_when_they_are_asked_for():
    for name in ("replica", "nginx"):
        assert COMPOSE["services"][name]["profiles"] == ["nginx"]
    assert COMPOSE["services"]["own"]["profiles"] == ["own"]
    assert "profiles" not in SERVICE
    assert COMPOSE["services"]["nginx"]["depends_on"] == {"replica": {"condition": "service_healthy"}}
    assert (ROOT / "nginx.conf").read_text().count("server replica:8000 ") == 1


def test_every_option_of_a_server_reaches_it_through_compose():
    of_a_server = {name for name, option in OPTIONS.items() if option.group != OPTION_GROUPS[0]} - OF_THE_CONTAINER
    for name in SERVING:
        assert {f"GRADLOUPE_{option.upper()}" for option in of_a_server} <= set(
            COMPOSE["services"][name]["environment"]
        )


def test_an_own_file_is_watched_in_its_folder_with_less_memory_than_the_container_has():
    own = COMPOSE["services"]["own"]
    assert own["command"] == ["${OWN_TARGET:-my_ops.py}"]
    assert own["volumes"] == [f"${{OWN_FOLDER:-.}}:{last('WORKDIR')}:ro"]
    usual = own["environment"]["GRADLOUPE_MEMORY"].removeprefix("${GRADLOUPE_MEMORY:-").removesuffix("}")
    assert int(usual) < 3 * 1024


def test_nginx_is_healthy_when_one_behind_it_is_ready():
    assert COMPOSE["services"]["nginx"]["healthcheck"]["test"][-1] == "http://127.0.0.1:8080/healthz?ready=1"


def test_what_compose_sets_are_settings_that_there_are():
    for service in COMPOSE["services"].values():
        environment = {name: text for name, text in service.get("environment", {}).items() if "$" not in text}
        given = service.get("environment", {})
        assert {name.removeprefix("GRADLOUPE_").lower() for name in given} <= set(OPTIONS)
        assert parse_settings([], environment, "1")


def test_without_podman_and_docker_the_container_is_not_tried_and_a_sentence_says_so(tmp_path):
    tried = subprocess.run(
        ["/bin/sh", ROOT / "tests" / "try_container.sh"], env={"PATH": str(tmp_path)}, capture_output=True, text=True
    )
    assert tried.returncode == 1
    assert re.fullmatch(r"[^\n]*podman or docker[^\n]*\.\n", tried.stderr)
