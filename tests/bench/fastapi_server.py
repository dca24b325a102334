"""The same sections as FastAPI sends them by itself: a dict of lists, declared or not. Started by encoding.py."""

from __future__ import annotations

import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import uvicorn
from fastapi import FastAPI

from gradloupe.server.documents.columns import document_columns
from gradloupe.server.supervisor.engine import Engine
from gradloupe.server.url.address import default_address


def main() -> None:
    """Serve sections of one op, named by the first argument, on a free port, and print it."""
    engine = Engine.spawn()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await engine.connect()
        yield
        await engine.close()

    app = FastAPI(lifespan=lifespan)

    async def section(name: str, count: int, grad_output: float):
        question = default_address((await engine.catalogue())[sys.argv[1]]).question
        answer = await engine.answer(replace(question, count=count, grad_output=grad_output))
        # What JSON cannot say, json.dumps refuses; somebody would have replaced it in this way.
        columns = {name: column and _finite(column) for name, column in document_columns(answer).items()}
        return {"address": f"/ops/{name}", **answer.header, "columns": columns}

    app.get("/ops/declared/{name}", response_model=dict[str, Any])(section)
    app.get("/ops/{name}")(section)

    config = uvicorn.Config(app, ws="none", access_log=False, log_level="warning")
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    uvicorn.Server(config).run(sockets=[listener])


def _finite(column: list[float]) -> list[float | None]:
    return [each if abs(each) < float("inf") else None for each in column]


if __name__ == "__main__":
    main()
