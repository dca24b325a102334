"""Routes of edited code: ``/play``, the page with the editor; ``POST /play.json``, a text and a question, answered out
of the sandbox; ``POST /play.page.json``, the same for that page; and ``POST /play.grade.json``, its grade.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson
from fastapi import APIRouter, HTTPException, Request, Response

from ..cache.visitor import Visitor
from ..documents.json_document import json_document
from ..documents.pytest_file import pytest_ending
from ..exercises.exercise import OPEN_GOALS, Exercise, Goal
from ..exercises.grade import graded_text
from ..figure.drawn_section import without_hidden
from ..html.op_markup import controls_digest
from ..http.cross_site_guard import PLAY, PLAY_GRADE, PLAY_PAGE
from ..http.openapi import EDIT_BODY, edit_response, problem_responses
from ..http.responses import reply, uncached_reply
from ..protocol.answer import Answer, curves_of
from ..protocol.errors import BadQuestion, EngineBroken, UnknownOp, Unsolved
from ..protocol.job import EDITED
from ..protocol.listed import closest_match, did_you_mean, listed
from ..schema.op import DeviceSummary, OpDescription
from ..supervisor.engine import Engine
from ..url.address import Address, canonical_address, encoded_query
from ..url.numbers import printable_excerpt
from ..url.parse import parse_query, read_address
from ..url.representations import PAGE, REPRESENTATIONS, check_representation
from .context import Site, query_string
from .sections import SECTION_DOCUMENTS, SectionPlace, section_page

MAX_TEXT = 2**16  # bytes of a text in UTF-8
_PATIENCE = 1.0  # seconds that a page waits for its figure
_MAX_BODY = 8 * MAX_TEXT  # in JSON a character may take six bytes
_FIELDS = ("text", "name", "query")
_OFF = "Code cannot be edited on this server; its operator may allow that with --play, and it is run in a sandbox."

router = APIRouter()


@dataclass(frozen=True)
class _Edit:
    """A text and what is asked of it; ``form`` is the digest of the controls of the page that asks, None for others.

    ``exercise`` is the name of the one that it is written for; or it has a ``goal``, and began as ``original``.
    """

    text: str
    name: str = ""
    query: str = ""
    form: str | None = None
    exercise: str = ""
    goal: str = ""
    original: str = ""


@dataclass(frozen=True)
class _Answered:
    """An answer to an edit, and what it was asked."""

    op: OpDescription
    device: DeviceSummary
    address: Address
    answer: Answer

    @property
    def place(self) -> str:
        return canonical_address(self.op, replace(self.address, hide=()))


_Write = Callable[[_Answered], dict[str, Any]]


@router.get("/play", include_in_schema=False)
async def editor(request: Request) -> Response:
    """The page with the editor: for the op that is named ``from``, under the rest of the query, or from scratch."""
    site = Site.serving(request)
    await check_allowed(site)
    site.edits.prepare()
    words = parse_query(query_string(request))
    origin, uncalled = words.pop("from", ""), None
    try:
        if origin and not await site.engine.waits_for(origin):
            await site.op(origin, words.get("recipe", ""))
    except Unsolved as unsolved:
        uncalled = unsolved.told
    if origin and not uncalled:
        place = SectionPlace(origin, encoded_query(words))
        return await section_page(
            request, place, PAGE, "play", lambda pages, view: pages.play(view.base, view.indexed, view), _PATIENCE
        )
    body = await asyncio.to_thread(site.pages.play, site.base(request), site.settings.public, None, uncalled)
    return reply(request, body, "text/html")


@router.post(
    PLAY,
    tags=["sections"],
    summary="The numbers of a section of code that is sent",
    response_class=Response,
    responses={
        200: edit_response(("answered", "failed", "unsolved", "broken"), SECTION_DOCUMENTS),
        **problem_responses(403, 404, 413, 415, 422, 503),
    },
    openapi_extra={"requestBody": EDIT_BODY},
)
async def play(request: Request) -> Response:
    """The ``document`` is that of ``/ops/{name}.json``, for the Function that is called ``name`` in the ``text``.

    That is the first of its ``functions`` by default; ``query`` is as in an address. What is wrong with the text is no
    error of the request, but the ``result``: ``answered``, ``failed`` (the Function raises), ``unsolved`` (no call of
    it is known) or ``broken`` (the text cannot be run), with a ``sentence`` and the ``line`` that it is about. Code
    runs in a sandbox: 403 where the server has none, 503 with ``Retry-After`` where too many ask.
    """
    return await _reply(
        request, _FIELDS, lambda done: {"document": orjson.Fragment(json_document(done.answer, done.place))}
    )


@router.post(PLAY_PAGE, include_in_schema=False)
async def play_page(request: Request) -> Response:
    """The same for a page: the document is that of ``/ops/{name}.page.json``, and ``test`` is what a test ends with.

    ``form`` in the body is the digest of the controls that the page has; where the text asks for others, there are
    ``controls``, with their digest as ``form``, and of the name and the query only what still fits is taken.
    """
    pages = Site.serving(request).pages

    def written(done: _Answered) -> dict[str, Any]:
        op, address = done.op, done.address
        answer = without_hidden(curves_of(done.answer), address.hide)
        return {
            "document": pages.document(answer, done.place),
            "form": controls_digest(op),
            "controls": pages.controls(op, done.device, address, answer),
            "test": pytest_ending(op, address),
        }

    return await _reply(request, (*_FIELDS, "form", "exercise"), written)


@router.post(PLAY_GRADE, include_in_schema=False)
async def play_grade(request: Request) -> Response:
    """Whether a text solves an ``exercise``, or reaches a ``goal`` without another forward than that of ``original``.

    The result is whether it is ``solved``, the answer ``note``, ``trouble``, why it cannot be called, and ``hints``:
    what each answers, and the answer.
    """
    site = Site.serving(request)
    await check_allowed(site)
    edit = await _asked(request, ("text", "exercise", "goal", "original"))
    goal, hints = _goal(edit, (await site.course()).exercises)
    visitor = site.visitor(request)
    grade = await visitor.waiting_for(site.grader.grade(edit.text, goal, visitor.address, visitor.gone))
    told = [] if grade.solved else [*map(tuple, grade.hints), *(("A hint?", hint) for hint in hints)]
    result = {"solved": grade.solved, "note": grade.note, "trouble": grade.trouble, "hints": told}
    return uncached_reply(request, orjson.dumps(result), "application/json")


def _goal(edit: _Edit, exercises: Mapping[str, Exercise]) -> tuple[Goal, tuple[str, ...]]:
    """The goal of an edit, and the hints of its exercise. Raises ``BadQuestion``."""
    if edit.exercise in exercises:
        return exercises[edit.exercise].goal, exercises[edit.exercise].hints
    if edit.exercise:
        hint = did_you_mean(edit.exercise, exercises, "/exercises lists them all.")
        raise BadQuestion(f"exercise: there is no {printable_excerpt(edit.exercise)!r}; {hint}", "exercise")
    if edit.goal not in OPEN_GOALS or not edit.original.strip():
        allowed = listed(OPEN_GOALS, "or")
        raise BadQuestion(f"goal: give an exercise, or a goal, {allowed}, and the original text.", "goal")
    return Goal(edit.goal, edit.original), ()


async def _reply(request: Request, fields: tuple[str, ...], write: _Write) -> Response:
    site = Site.serving(request)
    await check_allowed(site)
    edit = await _asked(request, fields)
    visitor = site.visitor(request)
    text = edit.text
    if edit.exercise:
        text = graded_text(text, _goal(edit, (await site.course()).exercises)[0])

    async def asked() -> dict[str, Any]:
        async with site.edits.engine(text, visitor.address, visitor.gone) as engine:
            return await _result(engine, edit, visitor, write)

    result = await visitor.waiting_for(asked())
    return uncached_reply(request, orjson.dumps(result), "application/json")


async def check_allowed(site: Site) -> None:
    """Raises ``HTTPException`` where code may not be edited on this server, with the reason."""
    if not site.settings.play:
        raise HTTPException(403, _OFF)
    found = await site.edits.confinement()
    if refusal := found.refusal(site.settings.public):
        raise HTTPException(403, refusal)


async def _asked(request: Request, fields: tuple[str, ...]) -> _Edit:
    """What the body says in these fields. Raises ``HTTPException`` and ``BadQuestion``."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(415, "The body must be JSON, with the Content-Type application/json.")
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > _MAX_BODY:
            raise HTTPException(413, f"A text may have {MAX_TEXT} bytes, and this is more.")
    try:
        given = orjson.loads(body)
    except orjson.JSONDecodeError as problem:
        raise BadQuestion(f"The body is no JSON: {problem}.") from None
    if not isinstance(given, dict) or not all(isinstance(each, str) for each in given.values()):
        raise BadQuestion("The body must be an object of texts: text, and perhaps name and query.")
    for field in given:
        if field not in fields:
            close = closest_match(field, fields)
            raise BadQuestion(f"{field[:50]!r} is no field of the body; did you mean {close or 'text'}?", field[:50])
    text = given.get("text", "")
    if not text.strip() and "form" not in given:  # in a page that is what is written, and a result
        raise BadQuestion("There is no code; write that of a torch.autograd.Function.", "text")
    if (size := max(len(text.encode()), len(given.get("original", "").encode()))) > MAX_TEXT:
        raise HTTPException(413, f"A text may have {MAX_TEXT} bytes, and this has {size}.")
    return _Edit(**{"text": text} | given)


async def _result(engine: Engine, edit: _Edit, visitor: Visitor, write: _Write) -> dict[str, Any]:
    """The result: what kind it is, a sentence and a line where something is wrong, and the document where not."""
    result: dict[str, Any] = {"result": "answered", "sentence": "", "line": None, "functions": [], "document": None}
    try:
        await engine.wait_ready()
        catalogue = await engine.catalogue()
        result |= {"functions": list(catalogue), "name": edit.name or next(iter(catalogue))}
        if edit.name not in catalogue and edit.form is not None:
            result["name"] = next(iter(catalogue))
        if result["name"] not in catalogue:
            close = closest_match(edit.name, catalogue)
            raise UnknownOp(f"There is no {edit.name[:50]!r} in the text; it has {close or ', '.join(catalogue)}.")
        done = await _answered(engine, result["name"], edit, visitor)
        written = await asyncio.to_thread(write, done)
    except EngineBroken:
        trouble = engine.trouble
        assert trouble is not None
        return result | {"result": "broken", "sentence": trouble["sentence"], "line": trouble["line"]}
    except Unsolved as unsolved:
        problem, sentence, trouble = unsolved.told, str(unsolved), unsolved.told["trouble"]
        if problem["sayable"]:
            sentence += f" A line of its docstring may say so: `Gradloupe: {problem['recipe']}`."
        return result | {
            "result": "unsolved",
            "sentence": sentence,
            "line": trouble["line"] if trouble and trouble["file"] == EDITED else None,
        }
    failure = done.answer.header["failure"]
    if failure is not None:
        line = failure["line"] and failure["line"] + done.op["first_line"] - 1
        result |= {"result": "failed", "sentence": failure["sentence"], "line": line}
    return result | written


async def _answered(engine: Engine, name: str, edit: _Edit, visitor: Visitor) -> _Answered:
    words = parse_query(edit.query)
    op, device = await engine.op(name, words.get("recipe", "")), await engine.device()
    try:
        address = read_address(op, device, words)
    except BadQuestion:
        if edit.form in (None, controls_digest(op)):
            raise
        address = read_address(op, device, {})
    check_representation(address, REPRESENTATIONS["json" if edit.form is None else "page.json"])
    return _Answered(op, device, address, await engine.answer(address.question, visitor.gone))
