"""The HTML pages: the Jinja environment and the context of each template."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache, partial
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ..documents.compact import compact_document, script_json
from ..documents.nouns import reworded_for_order
from ..documents.shown_call import shown_call
from ..documents.text_alternative import (
    code_markup,
    data_table,
    kink_table,
    method_paragraph,
    range_out_of_view,
    summary_sentences,
)
from ..documents.typography import typeset_sentence as typeset
from ..figure.inline_svg import static_figure
from ..figure.legend import legend
from ..figure.sheet_svg import PREVIEW_SIZE, SHEET_SIZE
from ..figure.sparkline import sparkline
from ..paths import TEMPLATES
from ..protocol.fingerprint import fingerprint
from ..supervisor.engine import Answer
from ..url.address import (
    Address,
    canonical_address,
    curves_only,
    default_query_values,
    default_ranges,
    query_values,
    with_range,
    without_display_options,
)
from ..url.parse import HEIGHT_BOUNDS, SLIDER_VALUE_BOUNDS, WIDTH_BOUNDS
from .assets import Assets, imported_modules
from .example_inputs_code import example_inputs_code
from .gallery import GROUP_NOTES, available_tour, cards_by_group, search_keywords
from .inline_bundle import Bundle
from .op_markup import highlighted_source, inline_code, mathml, prose
from .social_tags import SocialTags, section_tags

_STARTING = "torch is still loading. This takes a few seconds after a start."


@dataclass(frozen=True)
class SectionPage:
    """The data of the page of a section.

    ``figure`` is the canonical address of its curves and ``base`` that of the site; ``answer`` is None while the curves
    are being measured. ``indexed`` allows search engines to index it. ``beside`` is what there is to say of the
    Function in addition to the verdict on this section, ``remark`` what there is to say of its sliders.
    """

    op: dict[str, Any]
    device: dict[str, Any]
    address: Address
    figure: str
    answer: Answer | None
    base: str
    indexed: bool = False
    beside: str = ""
    remark: str = ""


class Pages:
    """Renders every page, as encoded HTML."""

    @classmethod
    @cache
    def shared(cls, own: bool = False, framed: bool = True) -> Pages:
        """One with the static files of this process, made once: compiling the templates takes 0.1 s."""
        return cls(Assets.shared(), own, framed)

    def __init__(self, assets: Assets, own: bool = False, framed: bool = True) -> None:
        """``own``: the app shows a visitor's own Functions; ``framed``: other sites may embed figures."""
        self._environment = Environment(
            loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, auto_reload=False
        )
        self._environment.globals |= {
            "own": own,
            "embeddable": framed,
            "static": assets.address,
            "plotly": assets.plotly,
            "mathml": mathml,
            "prose": prose,
            "inline": inline_code,
            "highlight": highlighted_source,
            "sparkline": sparkline,
            "keywords": search_keywords,
            "tabled": data_table,
            "beyond": range_out_of_view,
            "legend": legend,
            "retold": reworded_for_order,
            "coded": code_markup,
            "call_shown": shown_call,
            "declaration": controls_digest,
            "typeset": typeset,
            "summary": summary_sentences,
            "kinks": kink_table,
            "method": method_paragraph,
            "modules": lru_cache(partial(imported_modules, assets)),
            "bounds": {"width": WIDTH_BOUNDS, "height": HEIGHT_BOUNDS, "values": SLIDER_VALUE_BOUNDS},
            "sizes": {"svg": SHEET_SIZE, "png": PREVIEW_SIZE},
        }

    def gallery(
        self,
        ops: dict[str, dict[str, Any]],
        thumbnails: dict[str, Any],
        device: dict[str, Any],
        social: SocialTags,
        trouble: dict[str, Any] | None = None,
        file: str = "",
        generation: int = 0,
    ) -> bytes:
        """The gallery: all ops by group, each with its sparkline, and the tour.

        ``trouble`` is that of the visitor's own ``file``, whose Functions may be missing or old; ``generation`` says
        which load it was.
        """
        cards = [op | {"thumbnail": thumbnails[name], "word": thumbnails[name]["word"]} for name, op in ops.items()]
        context: dict[str, Any] = {"groups": cards_by_group(cards), "notes": GROUP_NOTES, "tour": available_tour(ops)}
        context |= {"torch": device["torch"], "device": _device_name(device), "social": social}
        context |= {"trouble": trouble, "file": file, "generation": generation}
        return self._render("pages/gallery.html", context)

    def op(self, view: SectionPage) -> bytes:
        """The page of an op, its controls set as in the address, with its curves if they have been measured."""
        return self._render("pages/op.html", _context(view))

    def embed(self, view: SectionPage) -> bytes:
        """The figure of an op, to be embedded in a frame of another page."""
        return self._render("pages/embed.html", _context(replace(view, indexed=False), "/embed/{name}"))

    def export(self, view: SectionPage, axes: list[dict[str, Any]], answers: str, bundle: Bundle) -> bytes:
        """The figure as a stand-alone file: its sliders by their ``axes``, and their ``answers`` as JSON."""
        context = {"axes": axes, "answers": Markup(answers), "bundle": bundle}  # noqa: S704
        return self._render("files/export.html", _context(view) | context)

    def pair(self, context: dict[str, Any]) -> bytes:
        return self._render("pages/compare.html", context)

    def choice(self, context: dict[str, Any]) -> bytes:
        return self._render("pages/compare_choose.html", context)

    def waiting(self, title: str, address_json: str, framed: bool = False, why: str = _STARTING) -> bytes:
        """The placeholder until torch is loaded; ``address_json`` answers when it is. ``framed``: for an embed."""
        context = {"title": title, "address_json": address_json, "framed": framed, "why": why}
        return self._render("pages/waiting.html", context)

    def trouble(self, trouble: dict[str, Any], file: str, generation: int) -> bytes:
        """Why the visitor's ``file`` cannot be loaded; the page updates itself with the next load."""
        return self._render("pages/own_file.html", {"trouble": trouble, "file": file, "generation": generation})

    def unsolved(self, problem: dict[str, Any]) -> bytes:
        """A visitor's Function whose arguments could not be inferred: why, and how to declare them."""
        examples = example_inputs_code(problem["title"], problem["recipe"], problem["argument"])
        return self._render("pages/own_function.html", {"op": problem, "examples": examples})

    def error(self, status: int, title: str, detail: str, op: str | None, place: str = "") -> bytes:
        """The page of an HTTP error; ``op`` is an op to link to, ``place`` the first segment of the path."""
        context = {"status": status, "title": title, "detail": detail, "op": op}
        context |= {"framed": place == "embed", "paired": place == "compare"}
        return self._render("pages/error.html", context)

    def docs(self) -> bytes:
        """The API documentation: Swagger UI, from static files of this server."""
        return self._render("pages/docs.html", {})

    def _render(self, template: str, context: dict[str, Any]) -> bytes:
        return self._environment.get_template(template).render(context).encode("utf-8", "replace")


def _context(view: SectionPage, place: str = "/ops/{name}") -> dict[str, Any]:
    op, address, answer = view.op, view.address, view.answer
    asked = address.question
    document = None if answer is None else compact_document(answer, view.figure)
    return {
        "op": op,
        "question": asdict(asked) | {"wrt": str(asked.wrt), "of": str(asked.of), "layout": address.layout},
        "values": query_values(address),
        "defaults": default_query_values(op, asked.wrt),
        "extents": default_ranges(op),
        "address": canonical_address(op, address),
        "elsewhere": lambda span: canonical_address(op, with_range(address, span), place),
        "figure": view.figure,
        "usually_called": canonical_address(op, _with_recipe(address, op["usual_recipe"])),
        "hide": address.hide,
        "beside": view.beside,
        "remark": view.remark,
        "theme": address.theme,
        "device": view.device,
        "base": view.base,
        "social": section_tags(view.base, op, address, None if answer is None else answer.header, view.indexed),
        "answer": document,
        "packed": "" if document is None else script_json(document),
        "still": "" if answer is None else static_figure(answer, address.layout),
    }


def _with_recipe(address: Address, recipe: str) -> Address:
    """The address of the curves under another recipe, without display options."""
    figure = without_display_options(curves_only(address))
    return replace(figure, question=replace(figure.question, recipe=recipe))


def _device_name(device: dict[str, Any]) -> str:
    return next(str(each["name"]) for each in device["devices"] if each["kind"] == device["auto"])


# Fields of an op that its controls do not depend on, and that may change with every save of its file.
_DESCRIPTIVE_FIELDS = {
    *("title", "doc", "source", "digest", "first_line", "line", "file", "reference", "check"),
    *("forward", "backward", "surrogate_formula", "like", "written", "bound", "import_line", "block", "assumed"),
}


def controls_digest(op: dict[str, Any]) -> str:
    """The digest of the arguments, inputs, parameters and outputs of an op."""
    return fingerprint(
        json.dumps({key: value for key, value in op.items() if key not in _DESCRIPTIVE_FIELDS}, sort_keys=True)
    )
