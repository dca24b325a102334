"""``gradloupe``, or ``python -m gradloupe``: serve the gallery until Ctrl-C."""

from __future__ import annotations

import os
import signal
import socket
import sys
from contextlib import suppress

from . import __version__
from .server.process import WorkerProcess
from .server.settings import Settings, settings


def main() -> None:
    """Bind, start the worker, then import the web: torch loads in the one process while the other gets ready."""
    # Started in the background by a shell, a process would ignore Ctrl-C until uvicorn listens to it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    chosen = settings(sys.argv[1:], os.environ, __version__)
    try:
        listener = _listener(chosen.host, chosen.port)
    except (OSError, OverflowError) as problem:
        raise SystemExit(f"gradloupe cannot listen on {chosen.host}, port {chosen.port}: {problem}.") from None
    try:
        process = WorkerProcess(chosen.deadline)
    except OSError as problem:
        raise SystemExit(f"gradloupe cannot start its worker process: {problem}.") from None
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(chosen.host, chosen.host)  # noqa: S104 - shown, not bound
    port = listener.getsockname()[1]
    print(f"Gradloupe is at http://{f'[{host}]' if ':' in host else host}:{port} (Ctrl-C ends it)", flush=True)
    with suppress(KeyboardInterrupt):
        _serve(listener, process, chosen)


def _serve(listener: socket.socket, process: WorkerProcess, chosen: Settings) -> None:
    import uvicorn

    from .server.app import create_app
    from .server.engine import Engine
    from .server.log import logging_of
    from .server.patience import patient
    from .server.visitors import Limits, Visitors

    visitors = Visitors(Limits(requests_per_peer=chosen.requests_per_peer))
    config = uvicorn.Config(
        create_app(Engine(process), chosen, visitors),
        http=patient(visitors),
        h11_max_incomplete_event_size=2 * visitors.limits.head,
        ws="none",
        access_log=False,
        server_header=False,
        log_config=logging_of(chosen.log),
        log_level="warning",
        proxy_headers=bool(chosen.forwarded_allow_ips),
        forwarded_allow_ips=chosen.forwarded_allow_ips,
        timeout_graceful_shutdown=5,
    )
    uvicorn.Server(config).run(sockets=[listener])


def _listener(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=2048)


if __name__ == "__main__":
    main()
