"""gradloupe my_ops.py --publish site/: what lies in the folder, and what another run makes of it."""

import gzip
import json
import re
import shutil
from pathlib import Path

import pytest
from support.command_line import ran
from support.published_site import MY_OPS, crawled, written


def test_every_page_is_reached_and_every_address_is_relative_and_leads_to_a_file(site: Path) -> None:
    pages, wrong = crawled(site)
    assert wrong == []
    frames = {each.name for each in site.glob("*.html")} - {"index.html"}
    assert pages == {each.relative_to(site).as_posix() for each in site.rglob("*.html")}
    assert frames == {"LeakySTE.html", "Swish.html", "my_ops.swish.html", "Raises.html"}
    texts = [each.read_text("utf-8") for each in site.rglob("*") if each.suffix in (".html", ".css")]
    assert not any(re.search(r"url\(|127\.0\.0\.1|https?://(?!www\.w3\.org/)", text) for text in texts)


def test_a_function_has_its_figure_pictures_and_numbers_and_one_that_fails_says_so(site: Path) -> None:
    names = {each.name for each in (site / "LeakySTE").iterdir()}
    assert {"LeakySTE.svg", "LeakySTE.json", "LeakySTE.csv", "area.svg", "map.svg", "descent.svg"} <= names
    assert json.loads((site / "LeakySTE/LeakySTE.json").read_text())["verdict"]["word"] == "differs"
    assert "Gradloupe: x" not in (site / "LeakySTE/index.html").read_text()  # how it is called is no prose
    assert "not today" in (site / "Raises.html").read_text()
    assert "Plug the leak" in (site / "exercises/index.html").read_text()
    assert json.loads((site / "exercises/plug/plug.json").read_text())["verdict"]["word"] == "differs"
    assert "frobnicate" in (site / "Unknown/index.html").read_text()
    assert not (site / "Unknown.html").exists()
    assert {"Swish.html", "my_ops.swish.html"} <= {each.name for each in site.iterdir()}  # on any disk two files


def test_a_further_figure_with_27_sections_is_small(site: Path) -> None:
    names = ("Swish/index.html", "Swish.html", "Swish/sections.js")
    assert sum(len(gzip.compress((site / name).read_bytes(), 6)) for name in names) < 25_000
    stored = json.loads((site / "Swish/sections.js").read_text().partition("=")[2].rstrip(";\n"))
    assert len(stored["sections"]) == 27


def test_another_run_writes_only_what_is_another(site: Path, tmp_path: Path) -> None:
    folder = written(tmp_path)
    shutil.copytree(site, folder / "site")
    (folder / "site/CNAME").write_text("mine")
    before = {each: each.stat().st_mtime_ns for each in (folder / "site").rglob("*") if each.is_file()}
    changed = MY_OPS.replace("not today", "not tomorrow").replace("class swish(Swish):", "class Other(Swish):")
    (folder / "my_ops.py").write_text(changed)
    told = ran(folder, "my_ops.py --publish site")
    after = {each: each.stat().st_mtime_ns for each in (folder / "site").rglob("*") if each.is_file()}
    touched = {each.relative_to(folder / "site").parts[0] for each in after if after[each] != before.get(each)}
    assert touched == {"Raises", "Raises.html", "Other", "Other.html", "index.html", "gradloupe.json"}
    gone = {each.relative_to(folder / "site").parts[0] for each in before.keys() - after.keys()}
    assert gone == {"my_ops.swish", "my_ops.swish.html"}
    assert (folder / "site/CNAME").read_text() == "mine"
    assert re.match(r"Wrote \d+ of \d+ files to site/, [\d.]+ MB, \d+ are gone, in", told.stdout)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--sliders leak:41,grad_output:41", "leak:20,grad_output:20 would fit, which are 400."),
        ("--sliders leek:3", "--sliders leek: there is no such parameter; did you mean leak?"),
        ("--op Leaky", "--op Leaky: there is no such Function; did you mean LeakySTE?"),
    ],
)
def test_what_cannot_be_published_is_said_in_a_sentence_and_nothing_is_written(
    tmp_path: Path, options: str, sentence: str
) -> None:
    told = ran(written(tmp_path), f"my_ops.py --publish site {options}")
    assert told.returncode == 2
    assert sentence in told.stderr
    assert not (tmp_path / "site").exists()
