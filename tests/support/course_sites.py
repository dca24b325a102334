"""Course pages that embed a figure, made by the tools that teachers make them with, and served on another port."""

import functools
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

BEFORE, AFTER = "Before the figure.", "After the figure."


class Quiet(SimpleHTTPRequestHandler):
    """A file server that says nothing."""

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def course(folder: Path) -> Iterator[str]:
    """Serve a folder under another name than the figures have, so that it is another site."""
    (folder / "favicon.ico").touch()  # a browser asks for it
    handler = functools.partial(Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://localhost:{server.server_address[1]}"
        finally:
            server.shutdown()


def plain(folder: Path, snippet: str) -> str:
    """A page written by hand, with a policy that admits frames and scripts of others, and no inline style."""
    policy = "default-src 'none'; frame-src *; script-src *; style-src 'self'; img-src *"
    page = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>A course</title>
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{policy}"></head>
<body><h1>A course</h1><p>{BEFORE}</p>
{snippet}
<p>{AFTER}</p></body></html>
"""
    return _written(folder / "page.html", page)


def sphinx(folder: Path, snippet: str) -> str:
    """A Sphinx book written in MyST."""
    write_book(folder, {"index.md": f"# A course\n\n{BEFORE}\n\n{snippet}\n\n{AFTER}\n"})
    _run("sphinx", "-q", "-W", "-b", "html", str(folder / "book"), str(folder / "sphinx"))
    return "sphinx/index.html"


def write_book(folder: Path, files: dict[str, str], *extensions: str) -> None:
    """The source of a Sphinx book, which may have Python beside it."""
    source, used = folder / "book", ["myst_parser", *extensions]
    source.mkdir()
    conf = f"import sys\nsys.path.insert(0, {str(source)!r})\nproject = 'A course'\nextensions = {used}\n"
    for name, text in {"conf.py": f"{conf}html_theme = 'alabaster'\n", **files}.items():
        (source / name).write_text(text, "utf-8")


def build_book(folder: Path, builder: str, *options: str) -> subprocess.CompletedProcess[str]:
    """What Sphinx says, with the folder ``builder`` built; documents that were read are not read again."""
    places = str(folder / "book"), str(folder / builder)
    doctrees = "-d", str(folder / "doctrees")
    command = sys.executable, "-m", "sphinx", "-q", "-b", builder, *doctrees, *options, *places
    return subprocess.run(command, capture_output=True, text=True, timeout=240)


def mkdocs(folder: Path, snippet: str) -> str:
    """A MkDocs site."""
    source = folder / "docs"
    source.mkdir()
    (source / "index.md").write_text(f"# A course\n\n{BEFORE}\n\n{snippet}\n\n{AFTER}\n")
    (folder / "mkdocs.yml").write_text(
        "site_name: A course\nuse_directory_urls: false\ntheme:\n  name: mkdocs\n  highlightjs: false\n"
    )
    _run("mkdocs", "build", "--quiet", "--strict", "-f", str(folder / "mkdocs.yml"), "-d", str(folder / "mkdocs"))
    return "mkdocs/index.html"


def jupyter(folder: Path, snippet: str) -> str:
    """A notebook whose cell was run, as HTML."""
    return notebook_page(folder, f"display({BEFORE!r})", snippet, f"display({AFTER!r})")


def notebook_page(folder: Path, *sources: str) -> str:
    """A notebook of these cells, executed and exported without the scripts that its page takes from elsewhere."""
    cells = [
        {"cell_type": "code", "execution_count": None, "id": f"c{i}", "metadata": {}, "outputs": [], "source": source}
        for i, source in enumerate(sources)
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "notebook.ipynb").write_text(json.dumps(notebook))
    _run("nbconvert", "--to", "html", "--template", "basic", "--execute", str(folder / "notebook.ipynb"))
    body = (folder / "notebook.html").read_text()
    return _written(folder / "notebook.html", f"<!doctype html><meta charset='utf-8'><title>A course</title>{body}")


def slides(folder: Path, snippet: str) -> str:
    """Slides as reveal.js shows them: all but one hidden, frames loaded when theirs is the next."""
    page = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Slides</title>
<style>section {{ display: none }} section.present {{ display: block }}</style>
</head><body><button id="next">Next</button>
<section class="present"><p>{BEFORE}</p></section>
<section>{snippet}</section>
<script>
const slides = document.querySelectorAll("section");
document.querySelector("#next").onclick = () => {{
  for (const slide of slides) slide.classList.toggle("present");
  for (const frame of document.querySelectorAll(".present iframe[data-src]:not([src])")) frame.src = frame.dataset.src;
}};
for (const frame of document.querySelectorAll("iframe[data-src][data-preload]")) frame.src = frame.dataset.src;
</script></body></html>
"""
    return _written(folder / "slides.html", page)


def _written(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return path.name


def _run(module: str, *arguments: str) -> None:
    done = subprocess.run([sys.executable, "-m", module, *arguments], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
