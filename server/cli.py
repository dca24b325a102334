"""The command line, ``gradloupe`` or ``python -m gradloupe``: runs the web server, or a report without one."""

from __future__ import annotations

import errno
import os
import resource
import signal
import socket
import sys
from contextlib import contextmanager, suppress
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from threading import Thread, current_thread, main_thread
from typing import TYPE_CHECKING, NoReturn

from .. import __version__
from .capture.record import SUFFIX, BadCapture, read_capture
from .config.settings import Settings, end_with, parse_settings
from .config.target import BadTarget, course_folders, defines_function, expand_folders, parse_target
from .output import lead_stdout_nowhere, open_closed_streams
from .protocol.job import Job
from .protocol.listed import listed
from .supervisor.worker_process import WorkerProcess, default_workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType

    import uvicorn

    from .reload.composite_engine import AnyEngine
    from .report.baseline import Baseline

_MAX_PORTS = 100  # tried one after the other where no port was asked for
_MIN_FILES = 32  # of itself, its worker and the first visitors
_INTERRUPTED = 130
_EXPOSED = """\
gradloupe: it listens on {host}, not on this machine alone. Everybody who reaches port {port} can read the source of
{targets}, and run these Functions with values of their choice, with your rights. To keep it to yourself, leave
--host out (in a container publish 127.0.0.1:{port}:{port}),
and from another machine use ssh -L {port}:127.0.0.1:{port} {machine}
"""


def main() -> None:
    """Prepare this process for a terminal or a container, and run what the command line says."""
    # A process that a shell starts in the background ignores SIGINT until uvicorn handles it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if os.getpid() == 1:  # in a container: process 1 only gets the signals that it handles
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    open_closed_streams()
    try:
        run(sys.argv[1:])
    except KeyboardInterrupt:
        raise SystemExit(_INTERRUPTED) from None
    finally:
        # A Ctrl-C that interrupts an exec(), as libraries call it to make a dataclass, leaves a mark, for which Python
        # ends itself with SIGINT though the interrupt was handled. The next exec() takes the mark away.
        exec("")  # noqa: S102


def run(arguments: Sequence[str]) -> None:
    """Bind, start the workers, then import the web: torch loads in one process while the other gets ready.

    Ends with ``SystemExit`` for a report, and where nothing can be served.
    """
    chosen = with_data(parse_settings(arguments, os.environ, __version__))
    if chosen.verify:
        verify = ("-m", "gradloupe.server.notebook.verify", chosen.verify, *chosen.targets)
        os.execv(sys.executable, [sys.executable, *verify])  # noqa: S606 - it needs torch, and nothing of this process
    if chosen.publish:
        _publish(chosen)
    if chosen.reports:
        found = expand_folders(chosen.targets)
        _report(replace(chosen, targets=found or chosen.targets), _target_problem(found), nothing=not found)
    problem = _target_problem(chosen.targets)
    if problem:
        end_with(problem)
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if 0 <= files < _MIN_FILES:  # below zero: no limit
        raise SystemExit(f"gradloupe may open {files} files, and to serve it needs {_MIN_FILES}: see ulimit -n.")
    try:
        listener = _listener(chosen)
    except (OSError, OverflowError) as refused:
        raise SystemExit(f"gradloupe cannot listen on {chosen.host}, port {chosen.port}: {refused}.") from None
    try:
        make_engine = start_engine(chosen)
    except OSError as refused:
        raise SystemExit(f"gradloupe cannot start its worker process: {refused}.") from None
    with suppress(KeyboardInterrupt):
        try:
            _greet(chosen, listener)
        except OSError as refused:
            lead_stdout_nowhere()
            raise SystemExit(f"gradloupe cannot write to its standard output: {refused.strerror}.") from None
        _serve(listener, make_engine, chosen)


def with_data(chosen: Settings) -> Settings:
    """The settings with the Functions that a capture has seen in the place of one that is a target.

    Of the files that it names only those below this folder that define a Function count: it may be from a stranger.
    Ends the process with a sentence where it cannot be read, or none of them is here.
    """
    captures = [each for each in chosen.targets if each.endswith(SUFFIX)]
    data = [*captures, *filter(None, [chosen.data])]
    if chosen.everywhere and not data:
        end_with("--everywhere is for --check --data step.gradloupe, which else fails for what the data touch alone.")
    if not data:
        return chosen
    if len(data) > 1:
        end_with(f"{listed(data)} are {len(data)} captures; give one of them.")
    try:
        seen = dict.fromkeys((each["file"], each["function"]) for each in read_capture(data[0]).record["sites"])
    except BadCapture as problem:
        end_with(str(problem))
    files = {file for file, _ in seen if _is_here(file) and defines_function(Path(file))}
    found = [f"{file}:{name}" for file, name in seen if file in files and "<" not in name]
    targets = [*(each for each in chosen.targets if each not in captures), *(found if captures else ())]
    if not targets:
        names = listed(list(dict.fromkeys(file or "no file" for file, _ in seen)) or ["no Function"])
        end_with(
            f"{data[0]} has seen {names}, and none is in this folder; name it: gradloupe my_ops.py --data {data[0]}."
        )
    return replace(chosen, targets=tuple(targets), data=data[0])


def _is_here(file: str) -> bool:
    inside = Path(os.path.realpath(file))
    return file.endswith(".py") and inside.is_file() and inside.is_relative_to(os.path.realpath(os.curdir))


def start_engine(chosen: Settings) -> Callable[[], AnyEngine]:
    """Start the first worker; the function returned makes the engine, once the web is imported."""
    if chosen.targets:
        from .reload.composite_engine import CompositeEngine
        from .reload.reloader import Reloader

        own = Reloader(_job(chosen), course_folders(chosen.lessons, chosen.targets))
        return lambda: CompositeEngine(own, Job(deadline=chosen.deadline, workers=chosen.workers))
    process = WorkerProcess(replace(_job(chosen), workers=chosen.workers or default_workers()))

    def alone() -> AnyEngine:
        from .supervisor.engine import Engine

        return Engine(process)

    return alone


def _job(chosen: Settings) -> Job:
    limits = (chosen.deadline, chosen.targets, chosen.loading, chosen.memory)
    data = os.path.abspath(chosen.data) if chosen.data else ""
    return Job(*limits, report=chosen.reports, recipes=chosen.recipe, data=data)


def _target_problem(targets: tuple[str, ...]) -> str:
    """What is wrong with the targets, as far as that is known without importing them; else empty."""
    try:
        for each in targets:
            parse_target(each)
    except BadTarget as bad:
        return str(bad)
    return ""


def _report(chosen: Settings, problem: str, nothing: bool) -> NoReturn:
    """Report on the targets, without any server, and end with the exit code; ``nothing`` says that none is in them."""
    known = _known_findings(chosen) if chosen.baseline else None
    try:
        process = None if problem or nothing else WorkerProcess(_job(chosen))
    except OSError as refused:
        raise SystemExit(f"gradloupe cannot start its worker process: {refused}.") from None
    with _no_lost_interrupt():
        from .report.command import report_bad_target, report_nothing, run_report

    try:
        if process is not None:
            code = run_report(process, chosen, known)
        else:
            code = report_bad_target(problem, chosen) if problem else report_nothing(chosen)
    except KeyboardInterrupt:
        code = _INTERRUPTED
    raise SystemExit(code)


def _publish(chosen: Settings) -> NoReturn:
    """Write a site of the targets, or of the gallery, and end with the exit code."""
    targets = expand_folders(chosen.targets)
    problem = _target_problem(targets)
    if problem or (chosen.targets and not targets):
        end_with(problem or f"No file in {listed(list(chosen.targets))} defines a torch.autograd.Function.")
    folders = course_folders(chosen.lessons, targets)
    try:
        process = WorkerProcess(_job(replace(chosen, targets=targets)))
    except OSError as refused:
        raise SystemExit(f"gradloupe cannot start its worker process: {refused}.") from None
    with _no_lost_interrupt():
        from .publish.command import run_publish

    raise SystemExit(run_publish(process, chosen, folders))


def _known_findings(chosen: Settings) -> Baseline:
    """What the baseline lists; ends the process with a sentence where it cannot be read."""
    from .report.baseline import BadBaseline, read_baseline

    try:
        return read_baseline(chosen.baseline, chosen.write_baseline)
    except BadBaseline as problem:
        end_with(str(problem))


def _greet(chosen: Settings, listener: socket.socket) -> None:
    """Print the address, and warn where it listens beyond this machine."""
    address, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(chosen.host, chosen.host)  # noqa: S104 - shown, not bound
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}{chosen.root}"
    if chosen.targets and not ip_address(address.partition("%")[0]).is_loopback:
        whose, machine = ", ".join(chosen.targets), socket.gethostname()
        sys.stderr.write(_EXPOSED.format(host=chosen.host, port=port, targets=whose, machine=machine))
    if not chosen.targets:
        print(f"Gradloupe is at {url} (Ctrl-C ends it)", flush=True)
    else:
        url = f"{url}/own#token={chosen.token}"
        taken = f"port {chosen.port} is taken; " if chosen.port not in (0, port) else ""
        print(f"Gradloupe shows {', '.join(chosen.targets)} at {url} ({taken}Ctrl-C ends it)", flush=True)
    if chosen.open:
        Thread(target=_open, args=(url,), daemon=True).start()


def _open(url: str) -> None:
    """Open the browser; it waits for the page as we get ready."""
    import webbrowser

    if not webbrowser.open(url):
        sys.stderr.write("gradloupe: no browser could be opened; open the address above in one.\n")


def _serve(listener: socket.socket, make_engine: Callable[[], AnyEngine], chosen: Settings) -> None:
    with _no_lost_interrupt():
        from logging.config import dictConfig

        from .http.access_log import logging_config

        server = make_server(make_engine(), chosen)
        server.config.get_loop_factory()  # imported now, and not while no one notes a Ctrl-C
        dictConfig(logging_config(chosen.log))
    server.run(sockets=[listener])


@contextmanager
def _no_lost_interrupt() -> Iterator[None]:
    """Raises ``KeyboardInterrupt`` at the end if one was raised inside and did not get here.

    Python swallows an exception in the callback of a weak reference, as imports have them, or in ``__del__``.
    """
    seen = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal seen
        seen = True
        raise KeyboardInterrupt

    ends = (signal.SIGINT, signal.SIGTERM) if current_thread() is main_thread() else ()  # others get no signals
    replaced = [each for each in ends if signal.getsignal(each) is signal.default_int_handler]
    for each in replaced:
        signal.signal(each, interrupt)
    try:
        yield
    finally:
        for each in replaced:
            signal.signal(each, signal.default_int_handler)
    if seen:
        raise KeyboardInterrupt


def make_server(engine: AnyEngine, chosen: Settings) -> uvicorn.Server:
    """The uvicorn server in front of an engine, whose reloader it ends at shutdown."""
    import uvicorn

    from .app import create_app
    from .http.connection_limits import ConnectionLimits, Connections, limited_protocol
    from .reload.composite_engine import CompositeEngine

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            if isinstance(engine, CompositeEngine):
                engine.own.end()  # else open event streams would keep the server from ending
            await super().shutdown(sockets)

    connections = Connections(ConnectionLimits(share=0.5 if chosen.requests_per_peer else 1.0))
    config = uvicorn.Config(
        create_app(engine, chosen, connections),
        http=limited_protocol(connections),
        h11_max_incomplete_event_size=2 * connections.limits.head,
        ws="none",
        access_log=False,
        server_header=False,
        log_config=None,
        log_level="warning",
        proxy_headers=bool(chosen.forwarded_allow_ips),
        forwarded_allow_ips=chosen.forwarded_allow_ips,
        timeout_graceful_shutdown=5,
    )
    return Server(config)


def _listener(chosen: Settings) -> socket.socket:
    """The listening socket, on the chosen port; on one of the next where that is taken and nobody asked for it."""
    ports = range(chosen.port, min(chosen.port + _MAX_PORTS, 65536)) if chosen.next_port else [chosen.port]
    family = socket.AF_INET6 if ":" in chosen.host else socket.AF_INET
    refusal: OSError | None = None
    for port in ports:
        try:
            return socket.create_server((chosen.host, port), family=family, backlog=2048)
        except OSError as refused:
            refusal = refusal or refused
            if refused.errno != errno.EADDRINUSE:
                break
    assert refusal is not None
    raise refusal
