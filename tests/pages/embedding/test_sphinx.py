"""``gradloupe.sphinx``: a Function of one's own is a live figure in a page of Sphinx, and a picture in print."""

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from support.browser import resized, visitor, watched
from support.course_sites import build_book, course, write_book
from support.own_server import MY_OPS

REST = """
A course
========

.. gradloupe:: my_ops.Clamp
   :low: -0.5
   :hide: source
   :check:

.. toctree::

   second
"""
MYST = """
# Second

```{gradloupe} my_ops.Cube
:sliders: grad_output:3
:alt: A cube
```
"""
WRONG = """
Wrong
=====

.. gradloupe:: my_ops.Cubes

.. gradloupe:: my_ops.Clamp
   :lowe: 1

.. gradloupe:: my_ops.Clamp
   :view: area

.. gradloupe:: nowhere.Clamp

.. gradloupe:: my_ops.Configured

.. gradloupe:: my_ops.Cube
   :check:
"""
SAID = (
    (5, "my_ops.Cubes cannot be imported: AttributeError: module 'my_ops' has no attribute 'Cubes'."),
    (7, "'lowe' is not a parameter of this address; did you mean low?"),
    (10, "view"),
    (13, "nowhere.Clamp cannot be imported: ModuleNotFoundError: No module named 'nowhere'."),
    (15, "The option recipe says how my_ops.Configured is called."),
    (17, "Cube: backward does not return the derivative of forward"),
)


@pytest.fixture(scope="module", params=["1", pytest.param("2", marks=pytest.mark.nightly)])
def book(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A book whose pages were read by one process, nightly also by two at once."""
    folder = tmp_path_factory.mktemp("book")
    write_book(folder, {"my_ops.py": MY_OPS, "index.rst": REST, "second.md": MYST}, "gradloupe.sphinx")
    built = build_book(folder, "html", "-W", "-j", request.param)
    assert (built.returncode, built.stderr) == (0, "")
    return folder


@pytest.fixture
def reader(browser: object, book: Path) -> Iterator[Page]:
    with (
        course(book / "html") as site,
        visitor(browser, site) as page,  # type: ignore[arg-type]
        watched(page, site),
    ):
        yield page


def test_the_figure_of_a_page_is_live_as_high_as_it_is_and_asks_nobody_else(reader: Page) -> None:
    reader.goto("/index.html")
    frame = reader.frame_locator("grad-loupe iframe")
    expect(frame.locator("html")).to_have_attribute("data-ready", "/ops/Clamp?low=-0.5")
    expect(frame.locator(".listing")).to_be_hidden()
    frame.get_by_role("slider", name="low").press("ArrowRight")
    expect(frame.locator("html")).not_to_have_attribute("data-ready", "/ops/Clamp?low=-0.5")
    for width in (1280, 390):
        resized(reader, width, 900)
        expect(reader.locator("grad-loupe iframe")).to_have_js_property(
            "clientHeight", frame.locator("body").evaluate("e => Math.ceil(e.getBoundingClientRect().height)")
        )
    reader.goto("/second.html")
    expect(frame.locator("html")).to_have_attribute("data-ready", "/ops/Cube")
    reader.goto("/genindex.html")
    expect(reader.locator("script[src*=loupe]")).to_have_count(0)


def test_on_a_page_that_is_light_for_everybody_a_figure_is_so_too(reader: Page) -> None:
    reader.goto("/index.html")
    expect(reader.locator("grad-loupe iframe")).to_have_css("color-scheme", "light")
    for darkened in (
        "document.querySelector('div.body').style.background = '#111'",
        "document.documentElement.style.colorScheme = 'dark'",
    ):
        reader.evaluate(darkened)
        reader.locator("grad-loupe").evaluate("figure => figure.replaceWith(figure.cloneNode())")
        expect(reader.locator("grad-loupe iframe")).not_to_have_css("color-scheme", "light")


@pytest.mark.nightly
def test_print_and_books_have_its_picture_and_what_it_says(book: Path) -> None:
    latex, epub, text = (build_book(book, builder) for builder in ("latex", "epub", "text"))
    assert (latex.returncode, epub.returncode, text.returncode) == (0, 0, 0)
    (pdf,) = (book / "latex").glob("Clamp-*.pdf")
    assert pdf.read_bytes().startswith(b"%PDF")
    assert pdf.stem in (book / "latex" / "acourse.tex").read_text()
    (made,) = (book / "epub").glob("*.epub")
    with zipfile.ZipFile(made) as packed:
        assert any(re.search(r"/Clamp-\w+\.svg$", name) for name in packed.namelist())
        assert b"grad-loupe" not in packed.read("index.xhtml")
        assert b'alt="A cube"' in packed.read("second.xhtml")
    assert "[image: Clamp. " in (book / "text" / "index.txt").read_text()


@pytest.mark.nightly
def test_what_cannot_be_shown_is_told_at_its_line_and_a_gradient_that_differs_fails_the_build(tmp_path: Path) -> None:
    write_book(tmp_path, {"my_ops.py": MY_OPS, "index.rst": WRONG}, "gradloupe.sphinx")
    built = build_book(tmp_path, "html")
    assert built.returncode == 1
    for line, sentence in SAID:
        assert re.search(rf"index\.rst:{line}: ERROR: gradloupe: .*{re.escape(sentence)}", built.stderr), built.stderr
    assert "Traceback" not in built.stderr
    (tmp_path / "book" / "my_ops.py").write_text(MY_OPS.replace("2 * x**2", "3 * x**2"))  # and it is read again
    again = build_book(tmp_path, "html")
    assert (again.returncode, "Cube:" in again.stderr) == (0, False)
    assert sorted(path.suffix for path in (tmp_path / "html" / "_static" / "gradloupe").glob("Cube-*")) == ["", ".html"]
