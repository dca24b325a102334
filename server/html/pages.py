"""The HTML pages: the Jinja environment and the context of each template."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import groupby
from typing import Any, cast

from markupsafe import Markup

from ..documents.json_document import compact_document, exact_document, script_json
from ..documents.panel_tables import (
    ends_of_grad_output,
    undecided_stretches,
    wrong_elsewhere,
)
from ..documents.text_alternative import reading_words
from ..exercises.exercise import Exercise
from ..figure.axes import AxisRanges
from ..figure.drawn_section import without_hidden
from ..figure.inline_svg import inline_panels, static_figure
from ..figure.legend import legend
from ..figure.scene import Scene, build_scene, scene_document
from ..protocol.answer import Answer, CurvesAnswer
from ..protocol.views import VIEWS, WRITTEN_VIEWS
from ..schema.op import DeviceSummary, LoadError, OpDescription, OpStub, ThumbnailCurves, UnsolvedOp
from ..schema.page import DrawnRecord, PagePanelRecord, PageSectionRecord
from ..schema.section import SectionDocument
from ..schema.views import ProofRecord
from ..url.address import (
    LAYOUTS,
    Address,
    canonical_address,
    curves_only,
    default_query_values,
    default_ranges,
    query_values,
    with_range,
    without_display_options,
)
from .assets import Assets
from .course import Course
from .environment import page_environment
from .gallery import GROUP_NOTES, GalleryCard, cards_by_group, searched_card
from .glossary import GlossaryEntry, unlinked
from .lessons import LessonPlace
from .op_markup import load_markup_libraries
from .play_page import SKELETON, FrameDress, exercise_context, name_in_text, source_text, unanswered
from .search import ranked, suggestions
from .social_tags import (
    EXERCISES_DESCRIPTION,
    GLOSSARY_DESCRIPTION,
    LESSONS_DESCRIPTION,
    PLAY_DESCRIPTION,
    SocialTags,
    plain_tags,
    section_tags,
)

# The macros of parts/fragments.html, and the element that each fills.
FRAGMENTS = {
    **{"verdict": "verdict", "summary": "summary", "marks": "marks", "method": "method"},
    **{"values": "rows", "notes": "notes", "linearity": "linearity", "seen": "seen"},
}
_SHOWN = ("op", "figure", "beside", "remark", "editable", "device", "base")  # of a page, under the same name
_STARTING = "torch is still loading. This takes a few seconds after a start."


@dataclass(frozen=True)
class SectionPage:
    """The data of the page of a section.

    ``figure`` is the canonical address of its curves and ``base`` that of the site; ``answer`` is None while the curves
    are being measured. ``indexed`` allows search engines to index it. ``beside`` is what there is to say of the
    Function in addition to the verdict on this section, ``remark`` what there is to say of its sliders.
    ``closer`` is the answer of the view that is open. ``held`` are y-axes on which the curves are drawn, None where
    these have their own. ``editable`` says that its code may be edited.
    """

    op: OpDescription
    device: DeviceSummary
    address: Address
    figure: str
    answer: CurvesAnswer | None
    base: str
    indexed: bool = False
    beside: str = ""
    remark: str = ""
    closer: Answer | None = None
    held: AxisRanges | None = None
    editable: bool = False


class Pages:
    """Renders every page, as encoded HTML."""

    @classmethod
    @cache
    def shared(cls, own: str = "", framed: bool = True, root: str = "") -> Pages:
        """One with the static files of this process, made once: compiling the templates takes 0.1 s."""
        return cls(Assets.shared(), own, framed, root)

    def __init__(self, assets: Assets, own: str = "", framed: bool = True, root: str = "") -> None:
        """``own``: the visitor's own files, where the app shows their Functions.

        ``framed``: other sites may embed figures; ``root`` stands before the addresses of this site in links.
        """
        self._environment = page_environment(assets, own, framed, root)

    def prepare(self) -> None:
        """Import and compile what the first pages would else wait for; takes 0.3 s, so it is done in a thread."""
        load_markup_libraries()
        for name in self._environment.list_templates(extensions=("html",)):
            self._environment.get_template(name)

    def gallery(
        self,
        ops: Mapping[str, OpStub],
        thumbnails: Mapping[str, ThumbnailCurves],
        device: DeviceSummary,
        social: SocialTags,
        trouble: LoadError | None = None,
        file: str = "",
        generation: int = 0,
        hero: SectionPage | None = None,
        query: str = "",
        editable: bool = False,
    ) -> bytes:
        """The front page: a live figure, ``hero``, and all ops by group with their sparklines; or what ``query`` finds.

        ``trouble`` is that of the visitor's own ``file``, whose Functions may be missing or old; ``generation`` says
        which load it was. ``editable`` says that code may be edited.
        """
        cards: dict[str, GalleryCard] = {
            name: {**op, "thumbnail": thumbnails[name], "word": thumbnails[name]["word"]} for name, op in ops.items()
        }
        searched = [searched_card(card) for card in cards.values()] if query else []
        found = ranked(query, searched)
        context: dict[str, Any] = {} if hero is None else _context(hero) | {"hide": ("reading",)}
        context |= {"groups": cards_by_group(cards.values()), "notes": GROUP_NOTES, "hero": hero, "query": query}
        context |= {"found": [cards[name] for name in found]}
        context |= {"suggested": suggestions(query, searched) if query and not found else ()}
        name = next(each["name"] for each in device["devices"] if each["kind"] == device["auto"])
        context |= {"torch": device["torch"], "device": name, "social": social}
        context |= {"trouble": trouble, "file": file, "generation": generation, "editable": editable}
        return self._render("pages/gallery.html", context)

    def op(self, view: SectionPage) -> bytes:
        """The page of an op, its controls set as in the address, with its curves if they have been measured."""
        address = canonical_address(view.op, without_display_options(view.address))
        closer = view.closer
        panel = "" if closer is None else self._panel(closer, view.op, address)
        shown = {"panel": panel, "closer": closer and closer.header, "written": WRITTEN_VIEWS}
        return self._render("pages/op.html", _context(view) | shown)

    def embed(self, view: SectionPage) -> bytes:
        """The figure of an op, to be embedded in a frame of another page."""
        answer = view.answer and without_hidden(view.answer, view.address.hide)
        return self._render("pages/embed.html", _context(replace(view, answer=answer, indexed=False), "/embed/{name}"))

    def lesson(self, view: SectionPage, place: LessonPlace, course: Course, framed: bool) -> bytes:
        """A lesson of the course with its figure; ``framed`` for a frame of another page."""
        address = f"/lessons/{place.lesson.name}"
        if framed and view.answer is not None:
            view = replace(view, answer=without_hidden(view.answer, view.address.hide))
        context = _context(replace(view, indexed=False), f"/embed{address}" if framed else address)
        text = " ".join(place.lesson.text.replace("`", "").split())
        social = plain_tags(view.base + address, place.lesson.title, text, view.indexed and not framed)
        context |= {"place": place, "lesson": place.lesson, "framed": framed}
        context["exercises"] = course.exercises_of(place.lesson) if view.editable else []
        context["course"] = course.digest if place.lesson.own else ""
        return self._render("pages/lesson.html", context | {"social": replace(social, image=context["social"].image)})

    def lessons(self, course: Course, editable: bool, base: str, indexed: bool) -> bytes:
        """The list of the lessons, by their questions, in parts; and where code is ``editable`` a way to exercises."""
        social = plain_tags(f"{base}/lessons", "Lessons", LESSONS_DESCRIPTION, indexed)
        grouped = groupby(course.lessons, lambda lesson: (lesson.own, lesson.part))
        parts = [(own, part, list(members)) for (own, part), members in grouped]
        context = {"lessons": course.lessons, "parts": parts, "social": social, "editable": editable}
        return self._render("pages/lessons.html", context | _told_of(course, "lessons"))

    def exercises(self, course: Course, base: str, indexed: bool) -> bytes:
        """The list of the exercises."""
        social = plain_tags(f"{base}/exercises", "Exercises", EXERCISES_DESCRIPTION, indexed)
        context = {"exercises": [*course.exercises.values()], "social": social}
        return self._render("pages/exercises.html", context | _told_of(course, "exercises"))

    def exercise(
        self, exercise: Exercise, course: Course, base: str, indexed: bool, dress: FrameDress | None = None
    ) -> bytes:
        """An exercise, with a ``dress`` for the frame of another page; its curves are drawn by its script."""
        return self._render("pages/exercise.html", exercise_context(exercise, course, base, indexed, dress))

    def glossary(self, entries: Sequence[GlossaryEntry], base: str, indexed: bool) -> bytes:
        """The terms, each with its definition and a figure."""
        social = plain_tags(f"{base}/glossary", "Glossary", GLOSSARY_DESCRIPTION, indexed)
        return self._render("pages/glossary.html", {"entries": entries, "social": social})

    def published(self, template: str, view: SectionPage | None = None, **context: Any) -> bytes:
        """A page that needs no server, with what its ``template`` shows besides the figure of ``view``."""
        shown = {} if view is None else _context(view)
        return unlinked(self._render(f"published/{template}.html", shown | context).decode()).encode()

    def words(self, document: SectionDocument, names: Iterable[str] = FRAGMENTS) -> dict[str, str]:
        """What is said of an answer, from its exact ``document``: HTML by the id of the element that it fills."""
        return {FRAGMENTS[name]: self._said(name, document) for name in names}

    def document(self, answer: CurvesAnswer, address: str) -> PageSectionRecord:
        """What a page needs to draw ``answer`` and to say what was found, to be dumped by orjson."""
        document = exact_document(answer, address)
        return {**page_document(answer, document, build_scene(answer, LAYOUTS[0])), "words": self.words(document)}

    def controls(self, op: OpDescription, device: DeviceSummary, address: Address, answer: CurvesAnswer) -> Markup:
        """The form with the controls of a Function, set as in the address, as HTML."""
        form = self._environment.get_template("parts/controls.html").module.form  # type: ignore[attr-defined]
        usual = default_query_values(op, address.question.wrt)
        shown = (query_values(address), usual, default_ranges(op), device)
        return Markup(form(op, *shown, exact_document(answer, canonical_address(op, address)), True))  # noqa: S704

    def _panel(self, answer: Answer, op: OpDescription, address: str) -> Markup:
        """A view as HTML: of rows of words the macro of its name, of a figure its panels."""
        macros: Any = self._environment.get_template("parts/panels.html").module
        view = answer.header["view"]
        if VIEWS[view].title:
            return Markup(macros.look(answer.header, inline_panels(answer)))  # noqa: S704
        return Markup(getattr(macros, view)(answer.header, op["first_line"] if op["own"] else 1, address))  # noqa: S704

    def _said(self, name: str, document: SectionDocument | ProofRecord) -> str:
        return str(getattr(self._environment.get_template("parts/fragments.html").module, name)(document))

    def panel_document(self, answer: Answer, op: OpDescription, address: str) -> PagePanelRecord:
        """What a page needs to show a view that comes as HTML."""
        header: Any = answer.header
        view = header["view"]
        told = {name: header[name] for name in ("view", "op", "title", "sentence", "failure")}
        told |= {"address": address, "html": self._panel(answer, op, address), "at": header.get("at")}
        told["wrong"] = wrong_elsewhere(header) if view == "contract" else None
        told["line"] = self._said("proof", header) if view == "proof" and header["line"] else ""
        told["undecided"] = undecided_stretches(header) if view == "proof" else []
        told["holds"] = ends_of_grad_output(header) if view == "proof" else None
        told["numbers"] = {**exact_document(cast(CurvesAnswer, answer), address)} if view == "jacobian" else None
        return cast(PagePanelRecord, told)

    def play(
        self, base: str, indexed: bool, view: SectionPage | None = None, unsolved: UnsolvedOp | None = None
    ) -> bytes:
        """The page with the editor: for the code of a section, of a Function without a known call, or a new one."""
        shown = unanswered() if view is None else _context(replace(view, indexed=False))
        origin = unsolved or (view and view.op)
        social = plain_tags(f"{base}/play", "Play", PLAY_DESCRIPTION, indexed and origin is None)
        text, name = (source_text(origin), name_in_text(origin)) if origin else (SKELETON, "")
        shown |= {"social": social, "base": base, "text": text, "name": name, "origin": origin, "called": bool(view)}
        return self._render("pages/play.html", shown)

    def pair(self, context: dict[str, Any]) -> bytes:
        return self._render("pages/compare.html", context)

    def choice(self, context: dict[str, Any]) -> bytes:
        return self._render("pages/compare_choose.html", context)

    def waiting(self, title: str, address_json: str = "", framed: bool = False, why: str = _STARTING) -> bytes:
        """The placeholder until torch is loaded; ``address_json`` answers when it is. ``framed``: for an embed.

        Without an address to ask, the page itself is asked for again.
        """
        context = {"title": title, "address_json": address_json, "framed": framed, "why": why}
        return self._render("pages/waiting.html", context)

    def trouble(self, trouble: LoadError, file: str, generation: int) -> bytes:
        """Why the visitor's ``file`` cannot be loaded; the page updates itself with the next load."""
        return self._render("pages/own_file.html", {"trouble": trouble, "file": file, "generation": generation})

    def broken_file(self, trouble: LoadError, course: str, framed: bool) -> bytes:
        """Why a file of a course with this digest is no lesson or exercise; the page updates by itself."""
        context = {"trouble": trouble, "file": trouble["file"], "course": course, "framed": framed}
        return self._render("pages/own_file.html", context)

    def unsolved(self, problem: UnsolvedOp, editable: bool) -> bytes:
        """A visitor's Function whose arguments could not be inferred: why, and how to declare them."""
        return self._render("pages/own_function.html", {"op": problem, "editable": editable})

    def error(self, status: int, title: str, detail: str, op: str | None, place: str = "") -> bytes:
        """The page of an HTTP error; ``op`` is an op to link to, ``place`` the first segment of the path."""
        context = {"status": status, "title": title, "detail": detail, "op": op}
        context |= {"framed": place == "embed", "paired": place == "compare", "taught": place == "lessons"}
        return self._render("pages/error.html", context)

    def docs(self) -> bytes:
        """The API documentation: Swagger UI, from static files of this server."""
        return self._render("pages/docs.html", {})

    def _render(self, template: str, context: dict[str, Any]) -> bytes:
        return self._environment.get_template(template).render(context).encode("utf-8", "replace")


def page_document(answer: CurvesAnswer, exact: SectionDocument, drawn: Scene) -> DrawnRecord:
    """The document of ``answer``, to be dumped by orjson, from its ``exact`` one and its figure."""
    compact = compact_document(answer, exact["address"])
    return {**compact, "scene": scene_document(drawn), "readings": reading_words(exact)}


def _context(view: SectionPage, place: str = "/ops/{name}") -> dict[str, Any]:
    op, address, answer = view.op, view.address, view.answer
    asked = address.question
    document = None if answer is None else exact_document(answer, view.figure)
    drawn = None if answer is None else build_scene(answer, address.layout, view.held)
    question: Any = asdict(asked) | {"wrt": str(asked.wrt), "of": str(asked.of), "layout": address.layout}
    shown: dict[str, Any] = {name: getattr(view, name) for name in _SHOWN}
    return shown | {
        "question": question,
        "around": legend(drawn.whole if drawn else None, question),
        "values": query_values(address),
        "defaults": default_query_values(op, asked.wrt),
        "extents": default_ranges(op),
        "ranges": view.held and dict(zip(("upper", "lower"), view.held.of(address.layout), strict=True)),
        "address": canonical_address(op, address),
        "elsewhere": lambda span: canonical_address(op, with_range(address, span), place),
        "usually_called": canonical_address(op, _with_recipe(address, op["usual_recipe"])),
        "hide": address.hide,
        "theme": address.theme,
        "social": section_tags(view.base, op, address, None if answer is None else answer.header, view.indexed),
        "answer": document,
        "packed": script_json(page_document(answer, document, drawn)) if answer and document and drawn else "",
        "still": static_figure(drawn) if drawn else "",
    }


def _told_of(course: Course, kind: str) -> dict[str, Any]:
    """What a list says of the files of somebody's own: those of this ``kind`` that are broken."""
    return {"broken": [each for each in course.broken if each.kind == kind], "course": course.digest}


def _with_recipe(address: Address, recipe: str) -> Address:
    """The address of the curves under another recipe, without display options."""
    figure = without_display_options(curves_only(address))
    return replace(figure, question=replace(figure.question, recipe=recipe))
