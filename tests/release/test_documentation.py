"""The documentation is right: what it shows runs, what it names is there, and every option is explained."""

import html
import os
import re
import shlex
import subprocess
import sys
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from itertools import pairwise
from typing import get_args

import pytest
import torch
import yaml
from support import http
from support.command_line import ran
from support.sections import look
from support.servers import HERE, serving_in_thread

import gradloupe.ops
from gradloupe.ops import OPS, Op
from gradloupe.server.config import OPTIONS, parse_settings
from gradloupe.server.inference.recipe.grammar import parse_recipe
from gradloupe.server.protocol.views import VIEW_NAMES
from gradloupe.server.schema.section import VerdictWord
from gradloupe.server.schema.verdict_words import verdict_name

ROOT = HERE
NAMES = ("README.md", "CONTRIBUTING.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))))
TEXTS = {name: (ROOT / name).read_text(encoding="utf-8") for name in NAMES}
README, CONTRIBUTING = TEXTS["README.md"], TEXTS["CONTRIBUTING.md"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())

MINE = """import torch


class {name}(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output
"""
SITES = ("https://gradloupe.example.org", "http://127.0.0.1:8000")  # as the documents call the server
NEEDS_YOUR_FILES = ("/own",)


def blocks(language, *names):
    """What stands in the fenced blocks of a language."""
    pattern = rf"^```{language}\n(.*?)^```$"
    return [block for name in names or NAMES for block in re.findall(pattern, TEXTS[name], re.DOTALL | re.MULTILINE)]


def rows(name):
    """The cells of the tables of a document."""
    return [[cell.strip() for cell in line.split(" | ")] for line in re.findall(r"^\| (.*) \|$", TEXTS[name], re.M)]


# ---------------------------------------------------------------- commands


def commands():
    """Each command once, without its comment, as words; what is set before it is left out."""
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    parts = [part.strip() for line in lines for part in re.sub(r"(^|\s)#.*", "", line).split("&&")]
    return list(dict.fromkeys(part for part in parts if part))


def words(command):
    found = shlex.split(command)
    while re.fullmatch(r"[A-Z_]+=.*", found[0]):
        found.pop(0)
    return found


@pytest.fixture
def folder(tmp_path):
    """A folder with the files that the documents speak of."""
    (tmp_path / "my_package").mkdir()
    (tmp_path / "my_package" / "__init__.py").touch()
    (tmp_path / "my_package" / "kernels.py").write_text(MINE.format(name="FusedSwish"))
    (tmp_path / "my_ops.py").write_text(MINE.format(name="Mine"))
    return tmp_path


@pytest.mark.parametrize("command", [each for each in commands() if words(each)[0] == "gradloupe"])
def test_a_gradloupe_command_that_is_shown_runs(command, folder):
    _, *arguments = words(command)
    if {"--check", "--save-html", "--help", "--version"} & {*arguments}:
        assert ran(folder, " ".join(arguments)).returncode == 0
        return
    with serving_in_thread(*arguments, cwd=folder) as server:
        found = server.get("/own?wait=1").headers["location"]
        assert server.get(found).status_code == 200


@pytest.mark.parametrize("command", [each for each in commands() if words(each)[0] == "make"])
def test_a_make_command_that_is_shown_has_a_recipe(command):
    told = subprocess.run(["make", "--dry-run", *words(command)[1:]], cwd=ROOT, capture_output=True, text=True)
    assert (told.returncode, told.stderr) == (0, "")


@pytest.mark.parametrize("command", [each for each in commands() if words(each)[0] == "curl"])
def test_an_address_that_curl_is_given_answers(command, server):
    (address,) = words(command)[1:]
    assert http.get(address.replace(SITES[1], server)).status_code == 200


@pytest.mark.parametrize("command", [each for each in commands() if words(each)[0] == "docker"])
def test_a_docker_command_that_is_shown_names_what_there_is(command):
    """Without Docker: the service, the arguments of the build, and what the image hands on to gradloupe."""
    compose, text = yaml.safe_load((ROOT / "compose.yaml").read_text()), (ROOT / "compose.yaml").read_text()
    for name in re.findall(r"\b([A-Z_]+)=", command.partition("docker")[0]):
        assert f"${{{name}:-" in text
    _, verb, *arguments = words(command)
    if verb == "compose":
        profiles = {each for service in compose["services"].values() for each in service.get("profiles", ())}
        assert {each for each in arguments if each[0] != "-"} <= {"up", "down", *compose["services"], *profiles}
    elif verb == "build":
        declared = re.findall(r"^ARG (\w+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
        given = [each.partition("=")[0] for before, each in pairwise(arguments) if before == "--build-arg"]
        assert {*given} <= {*declared}
        assert arguments[-1] == "."
    else:
        assert verb == "run"
        image = len(arguments) - 1 - arguments[::-1].index("gradloupe")
        assert parse_settings(arguments[image + 1 :], {}, "1")


def test_pip_installs_a_folder_that_gives_the_command():
    assert [each for each in commands() if words(each)[0] == "pip"] == ["pip install path/to/this/folder"]
    assert PROJECT["project"]["scripts"]["gradloupe"] == "gradloupe.server.cli:main"
    assert PROJECT["project"]["readme"] == "README.md"


@pytest.mark.parametrize("command", [each for each in commands() if words(each)[0].endswith("python")])
def test_a_script_that_is_shown_runs(command, tmp_path):
    _, script, *arguments = words(command)
    for folder in ("before", "after"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "one").write_text("GET /\n\nthe same")
    told = subprocess.run([sys.executable, ROOT / script, *arguments], cwd=tmp_path, capture_output=True, text=True)
    assert (told.returncode, told.stdout) == (0, "1 answers: 1 identical, 0 different\n")


def test_every_command_that_is_shown_is_looked_at():
    known = {"gradloupe", "make", "curl", "docker", "pip", ".venv/bin/python"}
    assert {words(each)[0] for each in commands()} == known


def test_the_two_commands_are_targets_of_the_makefile():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    found = re.findall(r"^make (\w+)", "\n".join(TEXTS.values()), re.MULTILINE)
    assert {"run", "test"} <= {*re.findall(r"^make (\w+)", README, re.MULTILINE)}
    for command in found:
        assert re.search(rf"^{command}:", makefile, re.MULTILINE)


# ---------------------------------------------------------------- addresses


def addresses():
    """Each address of the server that a document names, once, as path and query."""
    site = "|".join(map(re.escape, SITES))
    found = [
        address
        for text in TEXTS.values()
        for pattern in (r"`(?:GET )?(/[^`\s]*)`", rf"(?:{site})(/[^\s\"'`<]*|)")
        for address in re.findall(pattern, text)
    ]
    return list(dict.fromkeys(html.unescape(each).replace("{name}", "exp") or "/" for each in found))


def test_every_address_that_is_named_answers(server, subtests):
    assert len(addresses()) > 15
    for address in addresses():
        if address not in NEEDS_YOUR_FILES:
            with subtests.test(address):
                assert http.get(server + address.replace(SITES[1], server)).status_code == 200


@pytest.mark.parametrize("address", NEEDS_YOUR_FILES)
def test_what_needs_files_of_your_own_answers_where_there_are_some(address, folder):
    assert address in addresses()
    with serving_in_thread("my_ops.py", cwd=folder) as server:
        assert server.get(f"{address}?wait=1").status_code == 303


def test_every_parameter_of_the_address_that_is_shown_is_read(server, subtests):
    shown = [row[0].strip("`") for name in NAMES for row in rows(name) if re.match(r"`\w+=", row[0])]
    assert len(shown) > 10
    for query in shown:
        with subtests.test(query):
            assert http.get(f"{server}/ops/exp?{query}").status_code == 200


def test_every_view_and_every_verdict_is_explained():
    first = {row[0].strip("`") for row in rows("docs/reading-a-page.md")}
    assert {f"view={view}" for view in VIEW_NAMES[1:]} <= first
    assert {verdict_name(word) for word in get_args(VerdictWord)} | {verdict_name("matches", "broken")} <= first


# ---------------------------------------------------------------- code


def test_the_op_in_the_documentation_keeps_its_word(tmp_path, monkeypatch):
    source = next(each for each in blocks("python", "CONTRIBUTING.md") if "op = Op(" in each)
    file = tmp_path / "swish.py"
    file.write_text(source, encoding="utf-8")
    spec = spec_from_file_location(f"{gradloupe.ops.__name__}.swish", file)
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    assert isinstance(module.op, Op)
    assert look(module.op, -5.0, 5.0)[1].word == "matches"


def test_the_lines_for_a_notebook_run():
    source = next(each for each in blocks("python", "docs/own-functions.md") if "MyFunction" in each)
    exec(source, {"MyFunction": OPS["exp"].function})  # noqa: S102 - our own


def test_the_recipes_that_are_shown_can_be_read():
    (block,) = blocks("recipe")
    for line in block.splitlines():
        assert parse_recipe(line).text() == line


def test_the_objects_that_a_module_may_hold_are_as_the_documentation_writes_them():
    (line,) = re.findall(r"`example_inputs = (\{.*?\})`", TEXTS["docs/own-functions.md"])
    assert [*eval(line, {"torch": torch})] == ["MyClamp"]  # noqa: S307 - our own


# ---------------------------------------------------------------- what is named


def test_the_readme_has_at_most_150_lines():
    assert len(README.splitlines()) <= 150


def test_the_picture_is_there():
    (picture,) = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README)
    assert (ROOT / picture).read_bytes().startswith(b"\x89PNG")


def test_no_link_is_broken(subtests):
    for name, text in TEXTS.items():
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            with subtests.test(f"{name}: {link}"):
                path, _, anchor = link.partition("#")
                file = (ROOT / name).parent / path if path else ROOT / name
                assert file.exists()
                if anchor:
                    headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
                    assert anchor in [re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings]


def test_every_page_of_the_documentation_is_linked_from_the_readme():
    assert {*re.findall(r"\]\((docs/[\w-]+\.md)\)", README)} == {name for name in NAMES if name.startswith("docs/")}


def paths(text):
    """The files and folders of this checkout that are named in a text."""
    inside = re.findall(r"`((?:server|ops|static|templates|tests|docs)/[\w./-]+)`", text)
    return inside + re.findall(r"`([\w-]+\.(?:toml|conf|yaml|lock))`", text)


def test_every_module_that_is_named_is_there():
    named = [each for text in TEXTS.values() for each in paths(text)]
    assert len(named) > 60
    assert [each for each in named if not (ROOT / each).exists()] == []


def test_every_identifier_that_is_named_beside_a_module_stands_there():
    """Words with a capital or an underscore, in an entry of a list or table or a paragraph that names modules."""
    named = []
    for name, text in TEXTS.items():
        for entry in re.split(r"\n(?=\d+\. |\| |\n)", text):
            modules = [ROOT / path for path in paths(entry) if "/" in path]
            files = [file for path in modules for file in (path, *path.rglob("*.py"))]
            code = "\n".join(file.read_text(encoding="utf-8") for file in files if file.is_file())
            identifiers = re.findall(r"`(?=\w*[A-Z_])(_?[A-Za-z]\w*)`", entry) if files else ()
            named += [(name, word, bool(re.search(rf"\b{word}\b", code))) for word in identifiers]
    assert named
    assert [place for place in named if not place[2]] == []


def test_every_option_is_explained(tmp_path):
    explained = [row[0] for name in ("docs/operating.md", "docs/own-functions.md") for row in rows(name)]
    explained = [each for cell in explained for each in re.findall(r"`(--[a-z-]+)`", cell)]
    assert sorted(explained) == sorted(f"--{name.replace('_', '-')}" for name in OPTIONS)
    helped = {*re.findall(r"^  (--[a-z-]+)", ran(tmp_path, "--help").stdout, re.MULTILINE)}
    assert helped - {"--version"} == {*explained}
    assert "`gradloupe --version`" in TEXTS["docs/operating.md"]


def test_the_gallery_is_as_large_as_the_readme_says():
    assert f"{len(OPS)} Functions" in README


def test_the_floors_are_drawn_as_they_are():
    (picture,) = blocks("floors")
    (floors,) = [
        each["layers"]
        for each in PROJECT["tool"]["importlinter"]["contracts"]
        if each.get("containers") == ["gradloupe.server"]
    ]
    assert [re.split(r"  +", line)[0] for line in picture.splitlines()] == floors


def test_the_page_of_measurements_is_the_one_that_make_bench_writes(monkeypatch):
    spec = spec_from_file_location("report", ROOT / "tests" / "bench" / "report.py")
    report = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, report)
    spec.loader.exec_module(report)
    assert TEXTS["docs/measured.md"].startswith(report.HEADER)
    table = report.Table("Verdicts", ("what", "measured"), [("exp", "1 ms")])
    speed = report.section("Speed", "A machine; 2 s.", report.Report([table]))
    assert speed == (
        "## Speed\n\nA machine; 2 s.\n\n### Verdicts\n\n| what | measured |\n| --- | --- |\n| exp | 1 ms |\n"
    )
    other = report.section("Load", "Another machine; 3 s.", report.Report([], [report.Target("few", "2", True)]))
    page = report.with_section(report.with_section(report.HEADER, other, ["Speed", "Load"]), speed, ["Speed", "Load"])
    assert page == f"{report.HEADER}\n{speed}\n{other}"
    later = speed.replace("1 ms", "2 ms")
    assert report.with_section(page, later, ["Load", "Speed"]) == f"{report.HEADER}\n{other}\n{later}"
    assert report.with_section(page, later, ["Load"]) == f"{report.HEADER}\n{other}\n{later}"


# ---------------------------------------------------------------- the lists of CONTRIBUTING

FOLLOWED = ("descent", "DIRTY-MISSING", "lr")
ELSEWHERE = ("server/inference", "server/numerics")  # where the word is not the name of an address


def section_about(word):
    (found,) = [each for each in CONTRIBUTING.split("\n## ") if f"Follow `{word}`" in each]
    return found


@pytest.mark.parametrize("word", FOLLOWED)
def test_the_example_is_found_at_every_place_of_the_list(word):
    places = re.findall(r"^\d+\. `([^`]+)`", section_about(word), re.MULTILINE)
    assert places
    for place in places:
        assert re.search(rf"\b{word}\b", (ROOT / place).read_text(encoding="utf-8"), re.IGNORECASE), place


@pytest.mark.parametrize("word", FOLLOWED)
def test_the_list_leaves_no_place_out_at_which_the_example_is_named(word):
    places = {
        os.fspath(path.relative_to(ROOT))
        for top in ("ops", "server", "static", "templates")
        for path in (ROOT / top).rglob("*.*")
        if path.suffix in (".py", ".js", ".html", ".css")
        and re.search(rf"[\"']{word}[\"']|\b{word}: \(", path.read_text(encoding="utf-8"))
    }
    assert {each for each in places if not each.startswith(ELSEWHERE)} <= {*paths(section_about(word))}
