"""What the operator chooses: from the command line, else from ``GRADLOUPE_…`` in the environment, else the default."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_network
from math import isfinite
from typing import Any, NoReturn
from urllib.parse import urlsplit

LOGS = ("off", "text", "json")
DEADLINE = 10.0  # seconds a Function may take for one section
REQUESTS = 64  # of one address, answered at once
PUBLIC = {"deadline": 5.0, "requests_per_peer": 32}  # where strangers ask; 32 fill half the queue of the engine
KUBERNETES = "tcp://"  # what it writes into GRADLOUPE_PORT where a service is called gradloupe
SOURCE = re.compile(
    r"\*|'self'|'none'|https?:|(https?://)?(?!(?:self|none)$)(\*\.)?[a-z0-9.-]+(:(\d{1,5}|\*))?", re.IGNORECASE
)
NAME = re.compile(r"(\*\.)?(?!-)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*", re.IGNORECASE)


@dataclass(frozen=True)
class Settings:
    """How one server is run.

    ``url`` is the public address without a slash at the end, or empty; ``names`` are further host names it answers to;
    ``forwarded_allow_ips`` are the proxies whose word on the client is taken.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    deadline: float = DEADLINE
    url: str = ""
    names: tuple[str, ...] = ()
    frame_ancestors: str = "*"
    public: bool = False
    log: str = LOGS[0]
    requests_per_peer: int = REQUESTS
    forwarded_allow_ips: str = ""
    cache: int = 64


class BadSetting(ValueError):
    """What is wrong with a setting, as the end of a sentence that its name begins."""


@dataclass(frozen=True)
class Option:
    """One setting as text: its reader, and what ``--help`` says of it."""

    read: Callable[[str], Any]
    help: str
    metavar: str


def settings(arguments: Sequence[str], environment: Mapping[str, str], version: str) -> Settings:
    """The settings in these words and this environment; ends the process with a sentence when there are none."""
    given = vars(_parser(version).parse_args(arguments))
    chosen: dict[str, Any] = {}
    for name, option in OPTIONS.items():
        variable = f"GRADLOUPE_{name.upper()}"
        where, text = f"--{name.replace('_', '-')}", given[name]
        if text is None and environment.get(variable, "") and not environment[variable].startswith(KUBERNETES):
            where, text = variable, environment[variable]
        if text is None:
            continue
        try:
            chosen[name] = option.read(text)
        except BadSetting as problem:
            _end(f"{where} {problem}, not {text!r}.")
    if chosen.get("public"):
        chosen = PUBLIC | chosen
    chosen["names"] = chosen.pop("name", ())
    return Settings(**chosen)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        _end(f"{message}; gradloupe --help says what there is.")


def _end(sentence: str) -> NoReturn:
    sys.stderr.write(f"gradloupe: {sentence}\n")
    raise SystemExit(2)


def _parser(version: str) -> argparse.ArgumentParser:
    parser = _Parser(
        "gradloupe",
        description="A loupe for gradients, in the browser.",
        epilog="Every option may also be given in the environment: --port as GRADLOUPE_PORT, and so on.",
        allow_abbrev=False,
    )
    for name, option in OPTIONS.items():
        flag = f"--{name.replace('_', '-')}"
        if option.read is _switch:
            parser.add_argument(flag, action="store_const", const="1", help=option.help)
        elif option.read is _names:
            parser.add_argument(flag, action=_Listed, help=option.help, metavar=option.metavar)
        else:
            parser.add_argument(flag, help=option.help, metavar=option.metavar)
    parser.add_argument("--version", action="version", version=version)
    return parser


class _Listed(argparse.Action):
    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: Any = None) -> None:
        before = getattr(namespace, self.dest)
        setattr(namespace, self.dest, values if before is None else f"{before} {values}")


def _host(text: str) -> str:
    return text


def _whole(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if re.fullmatch("[0-9]{1,9}", text) is None or not least <= int(text) <= most:
            raise BadSetting(f"must be a whole number from {least} to {most}")
        return int(text)

    return read


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not (isfinite(seconds) and 0 < seconds <= 3600):
        raise BadSetting("must be a number of seconds above 0, and 3600 at most")
    return seconds


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        named, _ = parts.hostname, parts.port
    except ValueError:
        raise BadSetting("must be the address people use, like https://gradloupe.example.org") from None
    extra = (parts.path.strip("/"), parts.query, parts.fragment, parts.username)
    if parts.scheme not in ("http", "https") or not named or any(extra) or re.search(r'[\s"<>\\]', text):
        raise BadSetting("must be the address people use, like https://gradloupe.example.org, without a path")
    return f"{parts.scheme}://{parts.netloc.lower()}"


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.lower().rstrip(".") for name in re.split(r"[\s,]+", text) if name)
    if not names or not all(NAME.fullmatch(name) for name in names):
        raise BadSetting("must be a host name like loupe.example.org, or *.example.org, without scheme and port")
    return names


def _sources(text: str) -> str:
    sources = text.split()
    if not sources or not all(SOURCE.fullmatch(source) for source in sources):
        raise BadSetting("must be *, 'none', or who may embed, like \"'self' https://school.example\"")
    return " ".join(sources)


def _switch(text: str) -> bool:
    switches = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if text.lower() not in switches:
        raise BadSetting("must be 1 or 0")
    return switches[text.lower()]


def _log(text: str) -> str:
    if text not in LOGS:
        raise BadSetting(f"must be one of {', '.join(LOGS)}")
    return text


def _proxies(text: str) -> str:
    proxies = [each.strip() for each in text.split(",") if each.strip()]
    for each in proxies:
        try:
            if each != "*":
                ip_network(each)
        except ValueError:
            raise BadSetting("must be addresses or networks of proxies, like 127.0.0.1,10.0.0.0/8, or *") from None
    return ",".join(proxies)


OPTIONS = {
    "host": Option(_host, "the address to listen on (default: 127.0.0.1)", "ADDRESS"),
    "port": Option(_whole(0, 65535), "the port; 0 takes a free one (default: 8000)", "N"),
    "deadline": Option(_seconds, "how long a Function may take for one section (default: 10; 5 with --public)", "S"),
    "url": Option(_url, "the address people use, for links that leave the site", "URL"),
    "name": Option(_names, "another host name it answers to; may be repeated", "NAME"),
    "frame_ancestors": Option(_sources, "who may embed its figures (default: *, everybody)", "SOURCES"),
    "public": Option(_switch, "strangers ask: a shorter deadline, and no metrics for them", ""),
    "log": Option(_log, "a line for each request: off, text or json (default: off)", "FORM"),
    "requests_per_peer": Option(
        _whole(0, 65535),
        "requests of one address answered at once; 0: no bound (default: 64; 32 with --public)",
        "N",
    ),
    "forwarded_allow_ips": Option(_proxies, "proxies that are believed who asks (default: none)", "ADDRESSES"),
    "cache": Option(_whole(0, 65536), "MiB of answers kept as they were sent (default: 64)", "MIB"),
}
