import html
import re
import shlex
import subprocess
from contextlib import chdir
from typing import get_args

import pytest
import torch
from support import http
from support.command_line import ran
from support.sections import look
from support.seen_step import functions_of
from support.servers import HERE, serving_in_thread
from support.written_functions import class_source

import gradloupe
from gradloupe.ops import OPS
from gradloupe.server.inference.recipe import parse_recipe
from gradloupe.server.protocol.views import VIEW_NAMES
from gradloupe.server.schema.section import VerdictWord
from gradloupe.server.schema.verdict_words import verdict_name

TEXTS = {path: path.read_text(encoding="utf-8") for path in (*HERE.glob("*.md"), *sorted((HERE / "docs").glob("*.md")))}
del TEXTS[HERE / "CHANGELOG.md"]
README = TEXTS[HERE / "README.md"]
ALL = "\n".join(TEXTS.values())
SITES = ("https://gradloupe.example.org", "http://127.0.0.1:8000")  # as the documents call the server
MINE = """
    def forward(ctx, x, beta=1.0):
        ctx.beta = beta
        return beta * x
    def backward(ctx, g):
        return ctx.beta * g, None
"""


def blocks(language):
    """What stands in the fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", ALL, re.DOTALL | re.MULTILINE)


def commands(program):
    """The arguments that a program is given, each line once."""
    lines = [re.sub(r"(^|\s)#.*", "", line) for block in blocks("sh") for line in block.splitlines()]
    parts = [part.strip() for line in lines for part in line.split("&&")]
    return list(dict.fromkeys(part.removeprefix(f"{program} ") for part in parts if part.startswith(f"{program} ")))


def first_cells():
    """What stands in the first column of the tables."""
    return re.findall(r"^\| (.*?) \| ", ALL, re.MULTILINE)


@pytest.mark.parametrize("line", commands("gradloupe"))
def test_a_gradloupe_command_that_is_shown_runs(line, tmp_path):
    (tmp_path / "my_package").mkdir()
    (tmp_path / "my_package" / "kernels.py").write_text(f"import torch\n{class_source(MINE, 'FusedSwish')}")
    (tmp_path / "gradloupe.json").write_text('{"schema": 1, "findings": []}')
    for folder in (tmp_path, tmp_path / "src"):
        folder.mkdir(exist_ok=True)
        (folder / "my_ops.py").write_text(f"import torch\n{class_source(MINE, 'Mine')}")
    if "step.gradloupe" in line:
        with chdir(tmp_path), gradloupe.watch() as seen:
            functions_of(tmp_path).Mine.apply(torch.ones(3, requires_grad=True)).sum().backward()
        seen.save(tmp_path / "step.gradloupe")
    if "--check" in line or ("--" in line and "--data" not in line):
        done = ran(tmp_path, line)
        assert done.returncode == 0, done.stderr
    else:
        with serving_in_thread(*shlex.split(line), cwd=tmp_path) as server:
            assert server.get(server.get("/own?wait=1").headers["location"]).status_code == 200


def test_a_make_command_that_is_shown_has_a_recipe():
    assert {"run", "test"} <= {*commands("make")}
    for line in commands("make"):
        dry = subprocess.run(["make", "--dry-run", *line.split()], cwd=HERE, capture_output=True, text=True)
        assert (dry.returncode, dry.stderr) == (0, "")


def addresses():
    """Each address of the server that a document names, once, as path and query."""
    patterns = (r"`(?:GET )?(/[^`\s]*)`", rf"(?:{'|'.join(map(re.escape, SITES))})(/[^\s\"'`<]*|)")
    named = [address for pattern in patterns for address in re.findall(pattern, ALL)]
    return {html.unescape(each).replace("{name}", "exp") or "/" for each in named}


def test_every_address_and_every_parameter_that_is_named_is_answered(server, subtests):
    shown = [f"/ops/exp?{cell.strip('`')}" for cell in first_cells() if re.match(r"`\w+=", cell)]
    assert len(shown) > 10
    for address in sorted({*addresses(), *shown} - {"/own"}):
        with subtests.test(address):
            assert http.get(server + address.replace(SITES[1], server)).status_code == 200


def test_every_view_and_every_verdict_is_explained():
    explained = {cell.strip("`") for cell in first_cells()}
    assert {f"view={view}" for view in VIEW_NAMES[1:]} <= explained
    assert {verdict_name(word) for word in get_args(VerdictWord)} | {verdict_name("matches", "broken")} <= explained


def test_the_op_in_the_documentation_keeps_its_word():
    (source,) = [each for each in blocks("python") if "op = Op(" in each and "class " in each]
    names = {"__package__": "gradloupe.ops", "__name__": "gradloupe.ops.swish"}
    exec(source, names)  # noqa: S102 - our own
    assert look(names["op"], -5.0, 5.0)[1].word == "matches"


def test_the_lines_for_a_notebook_run():
    source = next(each for each in blocks("python") if "MyFunction" in each)
    exec(source, {"MyFunction": OPS["exp"].function, "MyRound": OPS["round_straight_through"].function})  # noqa: S102 - our own


def test_the_recipes_that_are_shown_can_be_read():
    (block,) = blocks("recipe")
    assert [parse_recipe(line).text() for line in block.splitlines()] == block.splitlines()


def test_no_link_is_broken(subtests):
    for path, text in TEXTS.items():
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            with subtests.test(f"{path.name}: {link}"):
                name, _, anchor = link.partition("#")
                file = path.parent / name if name else path
                assert file.exists()
                headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.M) if anchor else []
                assert anchor in ["", *(re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings)]


def test_every_file_that_is_named_is_there():
    named = re.findall(r"`((?:server|ops|static|templates|tests|docs)/[\w./-]+|[\w-]+\.(?:toml|conf|yaml|lock))`", ALL)
    assert len(named) > 60
    assert [each for each in named if not (HERE / each).exists()] == []


def test_the_readme_links_to_every_page_and_knows_how_large_the_gallery_is():
    assert [path.name for path in (HERE / "docs").glob("*.md") if f"](docs/{path.name})" not in README] == []
    assert f"{len(OPS)} Functions" in README
