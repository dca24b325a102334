"""The command-line options: how each is parsed from text, and its text in ``--help``."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_network
from math import isfinite
from typing import Any
from urllib.parse import urlsplit

LOG_FORMATS = ("off", "text", "json")
REPORT_FORMATS = ("text", "json", "junit", "sarif")
_OWN, _RUN, _WHERE, _WHO = OPTION_GROUPS = (
    "Functions of your own",
    "How they are run",
    "Where it is served",
    "Who may use it",
)
_LEAST_MEMORY = 512  # MiB; with the X-ray and torch.compile a worker comes to 300
_FRAME_SOURCE = re.compile(
    r"\*|'self'|'none'|https?:|(https?://)?(?!(?:self|none)$)(\*\.)?[a-z0-9.-]+(:(\d{1,5}|\*))?", re.IGNORECASE
)
_URL = "must be the address people use, like https://gradloupe.example.org or https://example.org/gradloupe"
_ROOT = re.compile(r"(/(?!\.\.?(/|$))[A-Za-z0-9._~-]+)*")
# What stands at the top of a site: under such a path nobody could tell whether a proxy has taken the path off.
OWN_FOLDERS = ("embed", "exercises", "lessons", "ops", "static")
OWN_PAGES = ("compare", "docs", "events", "glossary", "healthz", "metrics", "oembed", "own", "play", "reload")
# A name, a colon, and the first argument of a recipe behind it.
_RECIPE = re.compile(r"\s*([\w.]+)\s*:\s*((?:like\s+)?\w+\s*[:=].*)", re.DOTALL)
_NAME = re.compile(r"(\*\.)?(?!-)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*", re.IGNORECASE)


class BadSetting(ValueError):
    """An option with a value that cannot be; the message is the end of a sentence that the option begins."""


@dataclass(frozen=True)
class Option:
    """One option: the parser of its text, its help, and the group of ``--help`` it stands in.

    ``between`` is what separates several of them in one text; empty where it may be given once alone.
    """

    read: Callable[[str], Any]
    help: str
    metavar: str
    group: str = _WHERE
    between: str = ""


def _whole(least: int, most: int) -> Callable[[str], int]:
    """A parser of whole numbers from ``least`` to ``most``."""

    def read(text: str) -> int:
        if re.fullmatch("[0-9]{1,9}", text) is None or not least <= int(text) <= most:
            raise BadSetting(f"must be a whole number from {least} to {most}")
        return int(text)

    return read


def memory(text: str) -> int:
    """MiB, at least what an idle worker takes; 0 for no limit."""
    if re.fullmatch("[0-9]{1,9}", text) is None or not (int(text) == 0 or _LEAST_MEMORY <= int(text) <= 2**24):
        raise BadSetting(f"must be {_LEAST_MEMORY} (MiB) or more, since torch alone takes half of that, or 0: no bound")
    return int(text)


def _seconds(text: str) -> float:
    """A number of seconds, up to an hour."""
    try:
        given = float(text)
    except ValueError:
        given = -1.0
    if not (isfinite(given) and 0 < given <= 3600):
        raise BadSetting("must be a number of seconds above 0, and 3600 at most")
    return given


def url(text: str) -> str:
    """Scheme, host and path, without a slash at the end."""
    try:
        parts = urlsplit(text)
        named, _ = parts.hostname, parts.port
    except ValueError:
        raise BadSetting(_URL) from None
    extra = (parts.query, parts.fragment, parts.username)
    if parts.scheme not in ("http", "https") or not named or any(extra) or re.search(r'[\s"<>\\]', text):
        raise BadSetting(_URL)
    root = parts.path.rstrip("/")
    if _ROOT.fullmatch(root) is None:
        raise BadSetting(f"{_URL}, whose path has words of letters, digits, ., _, ~ and - alone")
    first, _, rest = root[1:].partition("/")
    if first in OWN_FOLDERS or (first in OWN_PAGES and not rest):
        raise BadSetting(f"{_URL}, whose path is none of its own, as /{first} is")
    return f"{parts.scheme}://{parts.netloc.lower()}{root}"


def host_names(text: str) -> tuple[str, ...]:
    """Host names in lower case, without a final dot."""
    names = tuple(name.lower().rstrip(".") for name in re.split(r"[\s,]+", text) if name)
    if not names or not all(_NAME.fullmatch(name) for name in names):
        raise BadSetting("must be a host name like loupe.example.org, or *.example.org, without scheme and port")
    return names


def sources(text: str) -> str:
    """The sources of a ``frame-ancestors`` directive (Content Security Policy)."""
    names = text.split()
    if not names or not all(_FRAME_SOURCE.fullmatch(source) for source in names):
        raise BadSetting("must be *, 'none', or who may embed, like \"'self' https://school.example\"")
    return " ".join(names)


def boolean(text: str) -> bool:
    """A boolean."""
    switches = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if text.lower() not in switches:
        raise BadSetting("must be 1 or 0")
    return switches[text.lower()]


def one_of(words: tuple[str, ...]) -> Callable[[str], str]:
    """A parser of one of these words."""

    def read(text: str) -> str:
        if text not in words:
            raise BadSetting(f"must be one of {', '.join(words)}")
        return text

    return read


def token(text: str) -> str:
    """A token that needs no escaping in a URL."""
    if re.fullmatch(r"[A-Za-z0-9_-]{8,128}", text) is None:
        raise BadSetting("must be 8 to 128 letters, digits, - or _")
    return text


def _file(text: str) -> str:
    """The name of a file that can be written."""
    if not text or text.endswith(("/", os.sep)) or os.path.isdir(text):
        raise BadSetting("must be the name of a file, like report.html")
    if not os.access(os.path.dirname(text) or ".", os.W_OK):
        raise BadSetting("must be in a folder that is there and can be written to")
    return text


def _new_folder(text: str) -> str:
    """The name of a folder that can be made or written to."""
    path = os.path.abspath(text)
    there = path if os.path.isdir(path) else os.path.dirname(path)
    if not text or not os.path.isdir(there) or os.path.isfile(path) or not os.access(there, os.W_OK):
        raise BadSetting("must be a folder that can be written to, like site/")
    return text


def _folder(text: str) -> str:
    """The name of a folder that can be read."""
    if not os.path.isdir(text) or not os.access(text, os.R_OK | os.X_OK):
        raise BadSetting("must be a folder that is there and can be read")
    return text


def function_names(text: str) -> tuple[str, ...]:
    """Names of Functions, separated by spaces or commas."""
    names = tuple(filter(None, re.split(r"[\s,]+", text)))
    if not names:
        raise BadSetting("must be the name of a Function")
    return names


def recipes(text: str) -> tuple[tuple[str, str], ...]:
    """The names of Functions, each with its recipe, a line for each."""
    found = [_RECIPE.fullmatch(line) for line in text.splitlines() if line.strip()]
    if not found or not all(found):
        raise BadSetting('must be a Function and how it is called, like "Mine: x: float64[3,4]; k = 2"')
    pairs = tuple((each[1], each[2]) for each in found if each)
    if len(dict(pairs)) < len(pairs):
        raise BadSetting("must be given once for each Function")
    return pairs


def proxies(text: str) -> str:
    """Addresses and networks (CIDR), separated by commas."""
    addresses = [each.strip() for each in text.split(",") if each.strip()]
    for each in addresses:
        try:
            if each != "*":
                ip_network(each)
        except ValueError:
            raise BadSetting("must be addresses or networks of proxies, like 127.0.0.1,10.0.0.0/8, or *") from None
    return ",".join(addresses)


OPTIONS = {
    "check": Option(
        boolean,
        "no server: report on the Functions in the terminal. Exit code 0: all is well, 1: one is wrong or undecided, "
        "2: nothing could be judged, or a target was not loaded",
        "",
        _OWN,
    ),
    "format": Option(
        one_of(REPORT_FORMATS), f"of that report: {', '.join(REPORT_FORMATS)} (default: text)", "FORM", _OWN
    ),
    "allow": Option(
        function_names,
        "a Function that may differ without failing the check, or NAME:CHECK, one check of it that may fail, such as"
        " Mine:SECOND-ORDER; may be repeated",
        "NAME",
        _OWN,
        between=" ",
    ),
    "recipe": Option(
        recipes,
        'how a Function is called, as in "Mine: x: float64[3,4]; k = 2"; may be repeated',
        '"NAME: RECIPE"',
        _OWN,
        between="\n",
    ),
    "data": Option(
        str, "what gradloupe.watch saved: your numbers under the curves, in the calls of your step", "FILE", _OWN
    ),
    "everywhere": Option(boolean, "with --check --data: fail for what your data do not touch, too", "", _OWN),
    "verbose": Option(boolean, "with --check: say the notes of the X-ray, too", "", _OWN),
    "baseline": Option(_file, "with --check: a file of findings that are known; only new ones fail", "FILE", _OWN),
    "write_baseline": Option(boolean, "with --baseline: write that file from what is found now", "", _OWN),
    "strict": Option(boolean, "with --check: warnings and remarks fail, too", "", _OWN),
    "save_html": Option(_file, "no server: write the report as one page that needs no other file", "FILE", _OWN),
    "verify": Option(
        str,
        "no server: check the certificate of a proof again, by the file it names or a TARGET; exit code 0 if it holds",
        "FILE",
        _OWN,
    ),
    "publish": Option(
        _new_folder,
        "no server: write a site that needs none, for any web server; without a TARGET the gallery",
        "FOLDER",
        _OWN,
    ),
    "op": Option(function_names, "with --publish: a Function to publish; may be repeated", "NAME", _OWN, between=" "),
    "sliders": Option(str, "with --publish: how many values a slider has, like beta:9,grad_output:3", "COUNTS", _OWN),
    "lessons": Option(
        _folder, "a folder with lessons and exercises of your own (default: those beside your files)", "FOLDER", _OWN
    ),
    "open": Option(boolean, "open the browser", "", _OWN),
    "token": Option(
        token, "the token that a request for a change must carry (default: a new random one)", "TEXT", _OWN
    ),
    "deadline": Option(
        _seconds, "how long a Function may take for one section (default: 10; 5 with --public)", "S", _RUN
    ),
    "loading": Option(
        _seconds, "how long your file may take to be imported (default: 30; the gallery: 120)", "S", _RUN
    ),
    "workers": Option(
        _whole(1, 64),
        "how many processes answer, each on a processor of its own (default: the processors that may be used, 8 at "
        "most; 1 with a TARGET, whose Functions have one more)",
        "N",
        _RUN,
    ),
    "memory": Option(
        memory,
        f"MiB a worker may hold, {_LEAST_MEMORY} at least; 0: no bound (default: 4096 for your own; the gallery: 0)",
        "MIB",
        _RUN,
    ),
    "host": Option(str, "the address to listen on (default: 127.0.0.1)", "ADDRESS"),
    "port": Option(_whole(0, 65535), "the port; 0 takes a free one (default: 8000, or the next with a TARGET)", "N"),
    "url": Option(url, "the address people use, its path included: for links", "URL"),
    "name": Option(host_names, "another host name it answers to; may be repeated", "NAME", between=" "),
    "log": Option(one_of(LOG_FORMATS), "a line for each request: off, text or json (default: off)", "FORM"),
    "cache": Option(_whole(0, 65536), "MiB of answers kept as they were sent (default: 64)", "MIB"),
    "frame_ancestors": Option(
        sources, "who may embed its figures (default: *, everybody; 'self' with a TARGET)", "SOURCES", _WHO
    ),
    "public": Option(boolean, "strangers ask: a shorter deadline, and no metrics for them", "", _WHO),
    "play": Option(
        boolean,
        "code may be edited and run by who may use it, in a sandbox without files, network and other processes "
        "(default: on; off with --public)",
        "",
        _WHO,
    ),
    "requests_per_peer": Option(
        _whole(0, 65535),
        "new questions of one address under way at once; 0: no bound (default: 64; 32 with --public)",
        "N",
        _WHO,
    ),
    "forwarded_allow_ips": Option(
        proxies, "proxies that are trusted to say who asks (default: none)", "ADDRESSES", _WHO
    ),
}
