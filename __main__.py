"""``gradloupe``, or ``python -m gradloupe``: serve the gallery until Ctrl-C."""

from __future__ import annotations

import argparse
import signal
import socket
from contextlib import suppress

from . import __version__
from .server.process import WorkerProcess


def main() -> None:
    """Bind, start the worker, then import the web: torch loads in the one process while the other gets ready."""
    # Started in the background by a shell, a process would ignore Ctrl-C until uvicorn listens to it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    options = _options()
    try:
        listener = _listener(options.host, options.port)
    except (OSError, OverflowError) as problem:
        raise SystemExit(f"gradloupe cannot listen on {options.host}, port {options.port}: {problem}.") from None
    try:
        process = WorkerProcess(options.deadline)
    except OSError as problem:
        raise SystemExit(f"gradloupe cannot start its worker process: {problem}.") from None
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(options.host, options.host)  # noqa: S104 - shown, not bound
    port = listener.getsockname()[1]
    print(f"Gradloupe is at http://{f'[{host}]' if ':' in host else host}:{port} (Ctrl-C ends it)", flush=True)
    with suppress(KeyboardInterrupt):
        _serve(listener, process)


def _serve(listener: socket.socket, process: WorkerProcess) -> None:
    import uvicorn

    from .server.app import create_app
    from .server.engine import Engine

    config = uvicorn.Config(
        create_app(Engine(process)),
        ws="none",
        access_log=False,
        server_header=False,
        log_level="warning",
        timeout_graceful_shutdown=5,
    )
    uvicorn.Server(config).run(sockets=[listener])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("gradloupe", description="A loupe for gradients, in the browser.")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: %(default)s)")
    parser.add_argument("--port", default=8000, type=int, help="the port; 0 takes a free one (default: %(default)s)")
    parser.add_argument(
        "--deadline",
        default=10.0,
        type=float,
        help="seconds a Function may take for one section (default: %(default)g)",
    )
    parser.add_argument("--version", action="version", version=__version__)
    return parser.parse_args()


def _listener(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=2048)


if __name__ == "__main__":
    main()
