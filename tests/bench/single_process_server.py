"""The same pages by a server that imports torch first and computes in its own process. Started by startup.py."""

from __future__ import annotations

import json
import socket
from typing import Any

import torch  # noqa: F401
import uvicorn

from gradloupe.ops import OPS
from gradloupe.server.app import create_app
from gradloupe.server.catalogue.op_description import op_descriptions
from gradloupe.server.protocol.frames import Frame
from gradloupe.server.protocol.question import Question
from gradloupe.server.worker import answer


class InProcessEngine:
    """What the app asks of an engine, with no worker behind it."""

    starting, ready, broken = False, True, ""

    def __init__(self) -> None:
        self._catalogue = {op["name"]: op for op in json.loads(json.dumps(op_descriptions()))}
        self._device = json.loads(json.dumps(answer.device_summary()))

    async def connect(self) -> None: ...

    async def close(self) -> None: ...

    async def wait_ready(self) -> None: ...

    async def waits_for(self, name: str) -> bool:
        return False

    async def catalogue(self) -> dict[str, dict[str, Any]]:
        return self._catalogue

    async def stub(self, name: str) -> dict[str, Any]:
        return self._catalogue[name]

    async def op(self, name: str, recipe: str = "") -> dict[str, Any]:
        return self._catalogue[name]

    async def device(self) -> dict[str, Any]:
        return self._device

    async def answer(self, question: Question, gone: object = None) -> Frame:
        header, columns = answer.answer_question(question, OPS[question.op])
        return Frame(header, {name: memoryview(column) for name, column in columns.items()})


if __name__ == "__main__":
    config = uvicorn.Config(create_app(InProcessEngine()), ws="none", access_log=False, log_level="warning")
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"Eager at http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    uvicorn.Server(config).run(sockets=[listener])
