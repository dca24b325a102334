"""The HTML pages: the Jinja environment and the context of each template."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ..documents.compact import packed, script
from ..documents.data_table import tabled
from ..documents.nouns import retold
from ..documents.out_of_view import beyond
from ..documents.summary import coded, kinks, method, summary
from ..documents.typography import prose as typeset
from ..figure import PREVIEW, SIZE, still
from ..figure.legend import legend
from ..figure.sparkline import sparkline
from ..paths import TEMPLATES
from ..supervisor.engine import Answer
from ..url.address import Address, canonical, curves_only, defaults, extents, plain, ranged, texts
from ..url.parse import HEIGHTS, VALUES, WIDTHS
from .assets import Assets, needed
from .declaration import declaration
from .example_inputs import example_inputs
from .gallery import NOTES, keywords, shelved, tour
from .highlight import highlight
from .inline_bundle import Bundle
from .mathml import mathml
from .prose import inline, prose
from .social_tags import Social, of_section

STARTING = "torch is still loading. This takes a few seconds after a start."


@dataclass(frozen=True)
class View:
    """The data of the page of a section.

    ``figure`` is the canonical address of its curves and ``base`` that of the site; ``answer`` is None while the curves
    are being measured. ``indexed`` allows search engines to index it. ``beside`` is what there is to say of the
    Function in addition to the verdict on this section.
    """

    op: dict[str, Any]
    device: dict[str, Any]
    address: Address
    figure: str
    answer: Answer | None
    base: str
    indexed: bool = False
    beside: str = ""


class Pages:
    """Renders every page, as encoded HTML."""

    def __init__(self, assets: Assets, own: bool = False, framed: bool = True) -> None:
        """``own``: the app shows a visitor's own Functions; ``framed``: other sites may embed figures."""
        self._environment = Environment(
            loader=FileSystemLoader(TEMPLATES),
            autoescape=True,
            undefined=StrictUndefined,
            auto_reload=False,
        )
        self._environment.globals |= {
            "own": own,
            "embeddable": framed,
            "static": assets.address,
            "plotly": assets.plotly,
            "mathml": mathml,
            "prose": prose,
            "inline": inline,
            "highlight": highlight,
            "sparkline": sparkline,
            "keywords": keywords,
            "tabled": tabled,
            "beyond": beyond,
            "legend": legend,
            "retold": retold,
            "coded": coded,
            "declaration": declaration,
            "typeset": typeset,
            "summary": summary,
            "kinks": kinks,
            "method": method,
            "modules": lru_cache(partial(needed, assets)),
            "bounds": {"width": WIDTHS, "height": HEIGHTS, "values": VALUES},
            "sizes": {"svg": SIZE, "png": PREVIEW},
        }

    def gallery(
        self,
        ops: dict[str, dict[str, Any]],
        thumbnails: dict[str, Any],
        device: dict[str, Any],
        social: Social,
        trouble: dict[str, Any] | None = None,
        file: str = "",
        generation: int = 0,
    ) -> bytes:
        """The gallery: all ops by group, each with its sparkline, and the tour.

        ``trouble`` is that of the visitor's own ``file``, whose Functions may be missing or old; ``generation`` says
        which load it was.
        """
        cards = [op | {"thumbnail": thumbnails[name], "word": thumbnails[name]["word"]} for name, op in ops.items()]
        said = {"torch": device["torch"], "device": _name(device), "social": social, "trouble": trouble}
        said |= {"file": file, "generation": generation}
        return self._render("pages/gallery.html", {"groups": shelved(cards), "notes": NOTES, "tour": tour(ops), **said})

    def op(self, view: View) -> bytes:
        """The page of an op, its controls set as in the address, with its curves if they have been measured."""
        return self._render("pages/op.html", _context(view))

    def embed(self, view: View) -> bytes:
        """The figure of an op, to be embedded in a frame of another page."""
        return self._render("pages/embed.html", _context(replace(view, indexed=False), "/embed/{name}"))

    def export(self, view: View, axes: list[dict[str, Any]], answers: str, bundle: Bundle) -> bytes:
        """The figure as a stand-alone file: its sliders by their ``axes``, and their ``answers`` as JSON."""
        context = {"axes": axes, "answers": Markup(answers), "bundle": bundle}  # noqa: S704
        return self._render("files/export.html", _context(view) | context)

    def pair(self, context: dict[str, Any]) -> bytes:
        """The page of two ops side by side."""
        return self._render("pages/compare.html", context)

    def choice(self, context: dict[str, Any]) -> bytes:
        """The page on which two ops are chosen."""
        return self._render("pages/compare_choose.html", context)

    def waiting(self, title: str, address_json: str, framed: bool = False, why: str = STARTING) -> bytes:
        """The placeholder until torch is loaded; ``address_json`` answers when it is. ``framed``: for an embed."""
        context = {"title": title, "address_json": address_json, "framed": framed, "why": why}
        return self._render("pages/waiting.html", context)

    def trouble(self, trouble: dict[str, Any], file: str, generation: int) -> bytes:
        """Why the visitor's ``file`` cannot be loaded; the page updates itself with the next load."""
        return self._render("pages/own_file.html", {"trouble": trouble, "file": file, "generation": generation})

    def unsolved(self, told: dict[str, Any]) -> bytes:
        """A visitor's Function whose arguments could not be inferred: why, and how to declare them."""
        examples = example_inputs(told["title"], told["recipe"], told["argument"])
        return self._render("pages/own_function.html", {"op": told, "examples": examples})

    def error(self, status: int, title: str, detail: str, op: str | None, place: str = "") -> bytes:
        """The page of an HTTP error; ``op`` is an op to link to, ``place`` the first segment of the path."""
        said = {"framed": place == "embed", "paired": place == "compare"}
        return self._render("pages/error.html", {"status": status, "title": title, "detail": detail, "op": op} | said)

    def docs(self) -> bytes:
        """The API documentation: Swagger UI, from static files of this server."""
        return self._render("pages/docs.html", {})

    def _render(self, template: str, context: dict[str, Any]) -> bytes:
        return self._environment.get_template(template).render(context).encode("utf-8", "replace")


def _context(view: View, place: str = "/ops/{name}") -> dict[str, Any]:
    op, address, answer = view.op, view.address, view.answer
    asked = address.question
    document = None if answer is None else packed(answer, view.figure)
    return {
        "op": op,
        "question": asdict(asked) | {"wrt": str(asked.wrt), "of": str(asked.of), "layout": address.layout},
        "values": texts(address),
        "defaults": defaults(op, asked.wrt),
        "extents": extents(op),
        "address": canonical(op, address),
        "elsewhere": lambda span: canonical(op, ranged(address, span), place),
        "figure": view.figure,
        "usually_called": canonical(op, _called(address, op["usual_recipe"])),
        "hide": address.hide,
        "beside": view.beside,
        "theme": address.theme,
        "device": view.device,
        "base": view.base,
        "social": of_section(view.base, op, address, None if answer is None else answer.header, view.indexed),
        "answer": document,
        "packed": "" if document is None else script(document),
        "still": "" if answer is None else still(answer, address.layout),
    }


def _called(address: Address, recipe: str) -> Address:
    """The address of the curves under another recipe, without display options."""
    return replace(plain(curves_only(address)), question=replace(curves_only(address).question, recipe=recipe))


def _name(device: dict[str, Any]) -> str:
    return next(str(each["name"]) for each in device["devices"] if each["kind"] == device["auto"])
