"""Route of edited code, ``POST /play.json``: a text and a question, answered out of the sandbox."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
from fastapi import APIRouter, HTTPException, Request, Response

from ..cache.visitor import Visitor
from ..documents.json_document import json_document
from ..http.cross_site_guard import PLAY
from ..http.responses import uncached_reply
from ..protocol.answer import Answer
from ..protocol.errors import BadQuestion, EngineBroken, UnknownOp, Unsolved
from ..protocol.suggest import closest_match
from ..schema.op import OpDescription
from ..supervisor.engine import Engine
from ..url.address import canonical_address
from ..url.parse import parse_query, read_address
from ..url.representations import REPRESENTATIONS, check_representation
from .context import Site

MAX_TEXT = 2**16  # bytes of a text in UTF-8
_MAX_BODY = 8 * MAX_TEXT  # in JSON a character may take six bytes
_FIELDS = ("text", "name", "query")
_OFF = "Code cannot be edited on this server; its operator may allow that with --play, and it is run in a sandbox."

router = APIRouter()


@router.post(PLAY, include_in_schema=False)
async def play(request: Request) -> Response:
    """What a text's Function does: its document as at ``/ops/{name}.json``, or the sentence why there is none.

    The body is JSON: the ``text``, the ``name`` of a Function in it (the first by default), and a ``query`` as in an
    address. What is wrong with the text is a result, and no error of the request.
    """
    site = Site.serving(request)
    await _check_allowed(site)
    text, name, query = await _asked(request)
    visitor = site.visitor(request)
    async with site.edits.engine(text, visitor.address, visitor.gone) as engine:
        result = await _result(engine, name, query, visitor)
    return uncached_reply(request, orjson.dumps(result), "application/json")


async def _check_allowed(site: Site) -> None:
    if not site.settings.play:
        raise HTTPException(403, _OFF)
    found = await site.edits.confinement()
    if not (found.complete if site.settings.public else found.holds):
        raise HTTPException(403, found.sentence)


async def _asked(request: Request) -> tuple[str, str, str]:
    """The text, name and query of the body. Raises ``HTTPException`` and ``BadQuestion``."""
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
        if field not in _FIELDS:
            close = closest_match(field, _FIELDS)
            raise BadQuestion(f"{field[:50]!r} is no field of the body; did you mean {close or 'text'}?", field[:50])
    text = given.get("text", "")
    if not text.strip():
        raise BadQuestion("text: there is none; send the code of a torch.autograd.Function.", "text")
    if len(text.encode()) > MAX_TEXT:
        raise HTTPException(413, f"A text may have {MAX_TEXT} bytes, and this has {len(text.encode())}.")
    return text, given.get("name", ""), given.get("query", "")


async def _result(engine: Engine, name: str, query: str, visitor: Visitor) -> dict[str, Any]:
    """The result: what kind it is, a sentence and a line where something is wrong, and the document where not."""
    result: dict[str, Any] = {"result": "answered", "sentence": "", "line": None, "functions": [], "document": None}
    try:
        await engine.wait_ready()
        catalogue = await engine.catalogue()
        result |= {"functions": list(catalogue), "name": name or next(iter(catalogue))}
        if result["name"] not in catalogue:
            close = closest_match(name, catalogue)
            raise UnknownOp(f"There is no {name[:50]!r} in the text; it has {close or ', '.join(catalogue)}.")
        op, answer, document = await _document(engine, result["name"], query, visitor)
    except EngineBroken:
        trouble = engine.trouble
        assert trouble is not None
        return result | {"result": "broken", "sentence": trouble["sentence"], "line": trouble["line"]}
    except Unsolved as unsolved:
        line = unsolved.told["trouble"]["line"] if unsolved.told["trouble"] else None
        return result | {"result": "unsolved", "sentence": str(unsolved), "line": line}
    failure = answer.header["failure"]
    if failure is not None:
        line = failure["line"] and failure["line"] + op["first_line"] - 1
        result |= {"result": "failed", "sentence": failure["sentence"], "line": line}
    return result | {"document": orjson.Fragment(document)}


async def _document(engine: Engine, name: str, query: str, visitor: Visitor) -> tuple[OpDescription, Answer, bytes]:
    words = parse_query(query)
    op, device = await engine.op(name, words.get("recipe", "")), await engine.device()
    address = read_address(op, device, words)
    check_representation(address, REPRESENTATIONS["json"])
    answer = await engine.answer(address.question, visitor.gone)
    document = await asyncio.to_thread(json_document, answer, canonical_address(op, address))
    return op, answer, document
