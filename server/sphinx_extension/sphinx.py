"""``extensions = ["gradloupe.sphinx"]``: the live figure of a Function on a page of Sphinx, its picture in print.

What a document shows is measured as it is read, and kept beside its doctree until it is written. Nothing of torch is
imported before, for documents are read in several processes.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective
from sphinx.util.logging import getLogger
from sphinx.util.osutil import relative_uri

from gradloupe import __version__
from gradloupe.server.protocol.errors import BadQuestion
from gradloupe.server.protocol.fingerprint import fingerprint

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

_FOLDER = "gradloupe"  # in _static, and beside the doctrees
_SITE, _PICTURES, _WRONG = "site", "pictures", "wrong"  # frames, pictures for print, and what checks have found
_OURS = ("check", "recipe", "alt")  # options; all others are words of an address


class BadFigure(Exception):
    """What cannot be shown; the message is a sentence."""


class Measured(NamedTuple):
    """The name of a figure's files, its title and words, the file of its source, and what a check has found."""

    name: str
    title: str
    words: str
    source: str
    wrong: str


class LiveFigure(nodes.General, nodes.Element):
    """A figure: its picture, and on a page of HTML the element around it."""


class _Words(dict[str, Callable[[str], Any]]):
    """Options of any name: which words an address has, its Function says."""

    def __missing__(self, name: str) -> Callable[[str], str]:
        return directives.unchanged_required


class GradloupeDirective(SphinxDirective):
    """``.. gradloupe:: my_package.ops.MySTE``, with the words of an address as options."""

    required_arguments = 1
    option_spec = _Words(check=directives.flag)

    def run(self) -> list[nodes.Node]:
        """The figure; what cannot be shown is an error at its line."""
        words = {name: text for name, text in self.options.items() if name not in _OURS}
        folder = _folder(self.env.doctreedir, self.env.docname)
        try:
            found = _measured(folder, self.arguments[0], words, self.options.get("recipe", ""), "check" in self.options)
        except (BadFigure, BadQuestion) as problem:
            raise self.error(f"gradloupe: {problem}") from None
        if found.source:
            self.env.note_dependency(found.source)
        if found.wrong:
            with Path(folder, _WRONG).open("a", encoding="utf-8") as file:
                file.write(f"{self.get_location()}\t{found.wrong}\n")
        here = Path(self.env.doc2path(self.env.docname)).parent
        picture = os.path.relpath(Path(folder, _PICTURES, found.name), here).replace(os.sep, "/")
        alt = self.options.get("alt", found.words)
        figure = LiveFigure("", nodes.image("", uri=f"{picture}.*", alt=alt, width="100%"), name=found.name)
        figure.attributes |= {"height": words.get("height", ""), "title": f"{found.title}, a live figure"}
        return [figure]


def _measured(folder: Path, path: str, words: dict[str, str], recipe: str, checked: bool) -> Measured:
    """Measure a figure and write its files; raises ``BadFigure`` and ``BadQuestion``."""
    from gradloupe.server.figure.sheet_svg import figure_svg, print_svg
    from gradloupe.server.inference.recipe.recipe import BadRecipe, NotInferred
    from gradloupe.server.notebook import process_restored
    from gradloupe.server.notebook.arguments import CheckArguments
    from gradloupe.server.notebook.subject import examine_subject, make_subject, run_to_end
    from gradloupe.server.png.rasterizer import drawn
    from gradloupe.server.publish.figure import figure_files, measured_figure
    from gradloupe.server.publish.sliders import usual_sliders
    from gradloupe.server.url.address import curves_only, without_display_options
    from gradloupe.server.url.parse import read_address
    from gradloupe.server.url.representations import REPRESENTATIONS, check_representation
    from gradloupe.server.worker.answer import device_summary

    with process_restored():
        function = _imported(path)
        try:
            subject = make_subject(function, CheckArguments(recipe=recipe))
        except NotInferred as problem:
            raise BadFigure(f"{problem.sentence} The option recipe says how {path} is called.") from None
        except BadRecipe as problem:
            raise BadFigure(f"recipe: {problem}") from None
        op, device = subject.told, device_summary()
        address = read_address(op, device, words)
        check_representation(address, REPRESENTATIONS["html"])
        sliding = address if "sliders" in words else usual_sliders(op, address)
        figure = run_to_end(measured_figure(subject.answer, op, device, sliding))
        result = examine_subject(subject).checked if checked else None
    name = f"{path.rpartition('.')[2]}-{fingerprint(path, recipe, repr(sorted(words.items())))[:8]}"
    plain = without_display_options(curves_only(address))
    files = {f"{_SITE}/{place}": content for place, content in figure_files(figure, name).items()}
    files[f"{_PICTURES}/{name}.svg"] = figure_svg(figure.answer, plain)
    files[f"{_PICTURES}/{name}.pdf"] = drawn("pdf", print_svg(figure.answer, plain))
    for place, content in files.items():
        Path(folder, place).parent.mkdir(parents=True, exist_ok=True)
        Path(folder, place).write_bytes(content)
    wrong = f"{result.name}: {result.sentence}" if result is not None and not result.ok else ""
    return Measured(
        name, op["title"], f"{op['title']}. {figure.answer.header['verdict']['sentence']}", op["file"], wrong
    )


def _imported(path: str) -> Any:
    from pkgutil import resolve_name

    from gradloupe.ops import OPS

    if path in OPS:
        return OPS[path]
    try:
        return resolve_name(path)
    except Exception as problem:  # noqa: BLE001 a module may raise anything
        raise BadFigure(f"{path} cannot be imported: {type(problem).__name__}: {problem}.") from None


def _folder(doctrees: str | Path, document: str) -> Path:
    """Where the figures of a document are kept."""
    return Path(doctrees, _FOLDER, fingerprint(document))


def _forget(app: Sphinx, env: BuildEnvironment, document: str) -> None:
    """A document is read anew, or is gone."""
    shutil.rmtree(_folder(env.doctreedir, document), ignore_errors=True)


def _write(app: Sphinx, env: BuildEnvironment) -> Iterator[str]:
    """All is read: what checks have found makes the build fail, and the figures go where pages are written."""
    folders = sorted(Path(env.doctreedir, _FOLDER).glob("*"))
    for wrong in (folder / _WRONG for folder in folders if (folder / _WRONG).exists()):
        for line in wrong.read_text("utf-8").splitlines():
            place, _, sentence = line.partition("\t")
            getLogger(__name__).error("gradloupe: %s", sentence, location=place)
            app.statuscode = 1
    if app.builder.format == "html" and app.builder.name != "epub":
        from gradloupe.server.publish.figure import shared_files

        target = Path(app.outdir, "_static", _FOLDER)
        shutil.rmtree(target, ignore_errors=True)
        for folder in folders:
            shutil.copytree(folder / _SITE, target, dirs_exist_ok=True)
        for place, content in shared_files().items() if folders else ():
            Path(target, place).parent.mkdir(parents=True, exist_ok=True)
            Path(target, place).write_bytes(content)
    return iter(())


def _add_script(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    if doctree is not None and next(iter(doctree.findall(LiveFigure)), None) is not None:
        app.add_js_file(f"{_FOLDER}/grad-loupe.js", loading_method="defer")


def _visit_html(self: Any, node: LiveFigure) -> None:
    if self.builder.name == "epub":
        return
    page = self.builder.get_target_uri(self.builder.current_docname)
    source = relative_uri(page, f"_static/{_FOLDER}/{node['name']}.html")
    height = f' height="{escape(node["height"])}"' if node["height"] else ""
    self.body.append(f'<grad-loupe src="{escape(source)}" title="{escape(node["title"])}"{height}>')


def _depart_html(self: Any, node: LiveFigure) -> None:
    if self.builder.name != "epub":
        self.body.append("</grad-loupe>")


def _pass(self: Any, node: LiveFigure) -> None:
    """The picture speaks for itself."""


def setup(app: Sphinx) -> dict[str, Any]:
    """What Sphinx calls."""
    plain = _pass, _pass
    app.add_node(LiveFigure, html=(_visit_html, _depart_html), latex=plain, text=plain, man=plain, texinfo=plain)
    app.add_directive("gradloupe", GradloupeDirective)
    app.connect("env-purge-doc", _forget)
    app.connect("env-updated", _write)
    app.connect("html-page-context", _add_script)
    return {"version": __version__, "env_version": 1, "parallel_read_safe": True, "parallel_write_safe": True}
