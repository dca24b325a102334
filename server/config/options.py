"""The options of the command line: how each is read from text, and how it stands in ``--help``."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import ip_network
from math import isfinite
from typing import Any, TypeVar
from urllib.parse import urlsplit

_Value = TypeVar("_Value")
OPTION_GROUPS = ("Functions of your own", "How they are run", "Where it is served", "Who may use it")
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
_SWITCHES = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


class BadSetting(ValueError):
    """An option with a value that cannot be; the message is the end of a sentence that the option begins."""


@dataclass(frozen=True)
class Option:
    """One option: the reader of its text, its help, and the group of ``--help`` it stands in.

    ``between`` is what separates several of them in one text; empty where it may be given once alone.
    """

    read: Callable[[str], Any]
    help: str
    metavar: str
    group: str
    between: str = ""


def option(default: Any, group: int, read: Callable[[str], Any], metavar: str, help: str, between: str = "") -> Any:
    """A field of the settings that an option sets."""
    return field(default=default, metadata={"option": Option(read, help, metavar, OPTION_GROUPS[group], between)})


def flag(group: int, help: str) -> Any:
    """A field of the settings that is off until an option without a value sets it."""
    return option(False, group, boolean, "", help)


def _reader(made: Callable[[str], _Value], fits: Callable[[_Value], object], sentence: str) -> Callable[[str], _Value]:
    """What reads the value that is ``made`` of a text, which may raise ``ValueError``, and has to fit."""

    def read(text: str) -> _Value:
        try:
            value = made(text)
            fitting = fits(value)
        except BadSetting:
            raise
        except ValueError:
            fitting = False
        if not fitting:
            raise BadSetting(sentence)
        return value

    return read


def _digits(text: str) -> int:
    """A number that is written in digits alone."""
    if re.fullmatch("[0-9]{1,9}", text) is None:
        raise ValueError(text)
    return int(text)


def whole(least: int, most: int) -> Callable[[str], int]:
    """A reader of whole numbers from ``least`` to ``most``."""
    sentence = f"must be a whole number from {least} to {most}"
    return _reader(_digits, lambda number: least <= number <= most, sentence)


def one_of(words: tuple[str, ...]) -> Callable[[str], str]:
    """A reader of one of these words."""
    return _reader(str, words.__contains__, f"must be one of {', '.join(words)}")


memory = _reader(
    _digits,
    lambda number: number == 0 or _LEAST_MEMORY <= number <= 2**24,
    f"must be {_LEAST_MEMORY} (MiB) or more, since torch alone takes half of that, or 0: no bound",
)
seconds = _reader(
    float,
    lambda number: isfinite(number) and 0 < number <= 3600,
    "must be a number of seconds above 0, and 3600 at most",
)
boolean = _reader(lambda text: _SWITCHES.get(text.lower()), lambda value: value is not None, "must be 1 or 0")
token = _reader(str, re.compile(r"[A-Za-z0-9_-]{8,128}").fullmatch, "must be 8 to 128 letters, digits, - or _")
host_names = _reader(
    lambda text: tuple(name.lower().rstrip(".") for name in re.split(r"[\s,]+", text) if name),
    lambda names: names and all(map(_NAME.fullmatch, names)),
    "must be a host name like loupe.example.org, or *.example.org, without scheme and port",
)
frame_sources = _reader(
    lambda text: " ".join(text.split()),
    lambda sources: sources and all(map(_FRAME_SOURCE.fullmatch, sources.split())),
    "must be *, 'none', or who may embed, like \"'self' https://school.example\"",
)
function_names = _reader(
    lambda text: tuple(filter(None, re.split(r"[\s,]+", text))), bool, "must be the name of a Function"
)
proxies = _reader(
    lambda text: ",".join(filter(None, map(str.strip, text.split(",")))),
    lambda addresses: all(each in ("*", "") or ip_network(each) for each in addresses.split(",")),
    "must be addresses or networks of proxies, like 127.0.0.1,10.0.0.0/8, or *",
)
folder = _reader(
    str,
    lambda text: os.path.isdir(text) and os.access(text, os.R_OK | os.X_OK),
    "must be a folder that is there and can be read",
)
_named_file = _reader(
    str,
    lambda text: text and not text.endswith(("/", os.sep)) and not os.path.isdir(text),
    "must be the name of a file, like report.html",
)
file = _reader(
    _named_file,
    lambda text: os.access(os.path.dirname(text) or ".", os.W_OK),
    "must be in a folder that is there and can be written to",
)


def _can_be_made(text: str) -> bool:
    path = os.path.abspath(text)
    there = path if os.path.isdir(path) else os.path.dirname(path)
    return bool(text) and os.path.isdir(there) and not os.path.isfile(path) and os.access(there, os.W_OK)


new_folder = _reader(str, _can_be_made, "must be a folder that can be written to, like site/")


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


def recipes(text: str) -> tuple[tuple[str, str], ...]:
    """The names of Functions, each with its recipe, a line for each."""
    found = [_RECIPE.fullmatch(line) for line in text.splitlines() if line.strip()]
    if not found or not all(found):
        raise BadSetting('must be a Function and how it is called, like "Mine: x: float64[3,4]; k = 2"')
    pairs = tuple((each[1], each[2]) for each in found if each)
    if len(dict(pairs)) < len(pairs):
        raise BadSetting("must be given once for each Function")
    return pairs
