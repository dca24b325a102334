import json
import re
import subprocess
import tomllib
from urllib.error import HTTPError

import pytest
import yaml
from support.servers import HERE, serving_in_thread, torch_loading

from gradloupe.server.config.options import OPTION_GROUPS
from gradloupe.server.config.settings import OPTIONS, parse_settings

pytestmark = pytest.mark.release

SERVICES = yaml.safe_load((HERE / "compose.yaml").read_text())["services"]
SERVING = ("gradloupe", "own", "replica")


def instructions():
    """Those of the Dockerfile as (keyword, arguments), continued lines joined, comments left out."""
    lines = [line for line in (HERE / "Dockerfile").read_text().splitlines() if line and line[0] != "#"]
    return [tuple(line.split(maxsplit=1)) for line in "\n".join(lines).replace("\\\n", " ").splitlines()]


def last(keyword):
    return [arguments for word, arguments in instructions() if word == keyword][-1]


def test_the_image_does_not_run_as_root():
    assert last("USER") == "10001:10001"
    words = [word for word, _ in instructions()]
    assert words.index("USER") > len(words) - 1 - words[::-1].index("RUN")


@pytest.mark.parametrize("arguments", [[], ["my_ops.py"], ["package.kernels:Mine", "--memory", "2048"]])
def test_what_stands_after_the_image_is_told_to_a_server_that_can_be_reached(arguments):
    pairs = [pair.split("=", 1) for word, text in instructions() if word == "ENV" for pair in text.split()]
    chosen = parse_settings(arguments, dict(pairs), "1")
    assert json.loads(last("ENTRYPOINT")) == ["gradloupe"]
    assert (chosen.host, chosen.port) == ("0.0.0.0", 8000)  # noqa: S104
    assert chosen.targets == tuple(arguments[:1])
    assert not chosen.next_port, "the port that is published is no other"


def test_the_health_check_is_passed_once_torch_is_loaded_at_the_port_that_was_chosen(running, monkeypatch):
    program, *_, question = json.loads(last("HEALTHCHECK").split("CMD", 1)[1])
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


def test_the_image_is_given_what_the_build_reads_and_nothing_else():
    project = tomllib.loads((HERE / "pyproject.toml").read_text())
    folders = {name.split(".")[1] for name in project["tool"]["setuptools"]["packages"] if "." in name}
    lines = (HERE / ".dockerignore").read_text().splitlines()
    assert "*" in lines
    assert {line[1:] for line in lines if line.startswith("!")} == folders | {
        *("__init__.py", "__main__.py", "LICENSE", "pyproject.toml", "requirements.txt"),
        *("package.json", "package-lock.json", project["project"]["readme"]),
    }


def test_compose_serves_this_machine_only():
    published = {name: service.get("ports", []) for name, service in SERVICES.items()}
    itself = ["127.0.0.1:8000:8000"]
    assert published == {"gradloupe": itself, "own": itself, "replica": [], "nginx": ["127.0.0.1:8080:8080"]}
    profiles = {name: service.get("profiles", []) for name, service in SERVICES.items()}
    assert profiles == {"gradloupe": [], "own": ["own"], "replica": ["nginx"], "nginx": ["nginx"]}


@pytest.mark.parametrize("name", SERVICES)
def test_compose_takes_every_privilege_away_and_bounds_what_is_used(name):
    service = SERVICES[name]
    assert service["logging"] == {"driver": "json-file", "options": {"max-size": "10m", "max-file": "3"}}
    assert service["read_only"] is True
    assert "/tmp" in service["tmpfs"]  # noqa: S108
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["mem_limit"] == ("1536m" if name == "nginx" else "3g")
    assert service["pids_limit"] <= 256
    assert "privileged" not in service


@pytest.mark.parametrize("name", SERVING)
def test_every_option_of_a_server_reaches_it_through_compose(name):
    given = SERVICES[name]["environment"]
    of_a_server = {name for name, option in OPTIONS.items() if option.group != OPTION_GROUPS[0]}
    meant = {each.removeprefix("GRADLOUPE_").lower() for each in given}
    assert of_a_server - {"host", "port", "open"} <= meant <= set(OPTIONS)
    assert parse_settings([], {variable: text for variable, text in given.items() if "$" not in text}, "1")


def test_an_own_file_is_watched_in_its_folder_with_less_memory_than_the_container_has():
    own = SERVICES["own"]
    assert own["command"] == ["${OWN_TARGET:-my_ops.py}"]
    assert own["volumes"] == [f"${{OWN_FOLDER:-.}}:{last('WORKDIR')}:ro"]
    assert int(re.findall(r"\d+", own["environment"]["GRADLOUPE_MEMORY"])[0]) < 3 * 1024


def test_without_podman_and_docker_the_container_is_not_tried_and_a_sentence_says_so(tmp_path):
    tried = subprocess.run(
        ["/bin/sh", HERE / "tests" / "try_container.sh"], env={"PATH": str(tmp_path)}, capture_output=True, text=True
    )
    assert tried.returncode == 1
    assert re.fullmatch(r"[^\n]*podman or docker[^\n]*\.\n", tried.stderr)
