"""The least web server in front of the same door: no router, no validation, no headers. Started by request_cost.py."""

from __future__ import annotations

import socket
import sys
from dataclasses import replace
from urllib.parse import parse_qsl

import uvicorn

from gradloupe.server.documents.json_document import json_document
from gradloupe.server.supervisor.engine import Engine
from gradloupe.server.url.address import default_address


def main() -> None:
    """Serve sections of one op, named by the first argument, on a free port, and print it."""
    engine = Engine.spawn()

    async def app(scope, receive, send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(engine, receive, send)
            return
        question = default_address((await engine.catalogue())[sys.argv[1]]).question
        given = dict(parse_qsl(scope["query_string"].decode()))
        asked = replace(question, count=int(given["count"]), grad_output=float(given["grad_output"]))
        body = json_document(await engine.answer(asked), "")
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    config = uvicorn.Config(app, ws="none", access_log=False, log_level="warning")
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    uvicorn.Server(config).run(sockets=[listener])


async def _lifespan(engine: Engine, receive, send) -> None:
    await receive()
    await engine.connect()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await engine.close()
    await send({"type": "lifespan.shutdown.complete"})


if __name__ == "__main__":
    main()
