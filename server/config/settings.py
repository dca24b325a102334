"""The settings: from the command line, else from ``GRADLOUPE_…`` in the environment, else the default."""

from __future__ import annotations

import argparse
import re
import secrets
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn
from urllib.parse import urlsplit

from ..protocol.suggest import closest_match
from .options import (
    LOG_FORMATS,
    OPTION_GROUPS,
    OPTIONS,
    REPORT_FORMATS,
    BadSetting,
    boolean,
)

PUBLIC = {
    "deadline": 5.0,
    "requests_per_peer": 32,
    "play": False,
}  # with --public; 32 fill half the queue of the engine
_TARGET_DEFAULTS = {
    "memory": 4096,
    "workers": 1,
    "loading": 30.0,
    "frame_ancestors": "'self'",
    "next_port": True,
}  # defaults with targets
_EXAMPLES = """\
examples:
  gradloupe                                      the gallery
  gradloupe my_ops.py                            every Function of a file, live: save it, and the curves move
  gradloupe my_package.kernels:FusedSwish        one Function, or a plain function of tensors, of a module
  gradloupe my_ops.py --check                    no server: a table, and exit code 1 where something differs
  gradloupe my_ops.py --check --format junit     the same for a CI server
  gradloupe my_ops.py --save-html report.html    the same as a page to keep or to send
  gradloupe --verify certificate.json            no server: a proof is checked again
  gradloupe my_ops.py --publish site/            a site of its figures, for any web server
  gradloupe my_ops.py --data step.gradloupe      with the numbers that gradloupe.watch has saved under the curves

Every option may also be given in the environment: --port as GRADLOUPE_PORT, and so on.
"""
_PREFIX = "GRADLOUPE_"
# Kubernetes sets variables like GRADLOUPE_PORT=tcp://… and GRADLOUPE_SERVICE_HOST where a service is called gradloupe.
_KUBERNETES = re.compile(
    r"\w+=(tcp|udp|sctp)://\S*|\w+_(SERVICE_(HOST|PORT(_\w+)?)|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)=\S*"
)


@dataclass(frozen=True)
class Settings:
    """How gradloupe is run.

    ``url`` is the public address without a slash at the end, or empty; ``names`` are further host names it answers to;
    ``forwarded_allow_ips`` are the proxies whose X-Forwarded-For is trusted. ``workers`` are the processes that answer
    for the gallery; 0 for as many as there are processors.

    ``targets`` are the files and modules with the user's own Functions; without any there is the gallery alone. Their
    workers may hold ``memory`` MiB (0: no limit), and take ``loading`` seconds to import them; ``token`` authorises
    requests that change something; ``recipe`` has names of Functions, each with how it is called. ``lessons`` is a
    folder with lessons and exercises, empty for those beside the files. ``next_port`` says whether another port may be
    used where ``port`` is taken.
    With ``play``, code that was edited in a page is run, in a sandbox.
    With ``check`` or ``save_html``, the file of a page, nothing is served; ``allow`` names the Functions whose
    differences are then no failure; with ``strict`` warnings and remarks are failures, too. ``baseline`` is the file of
    findings that are known and no failure either, which is written first with ``write_baseline``; ``verbose`` says the
    notes, too. With ``publish``, a folder, a site is written, of the Functions ``op`` or of all, with ``sliders`` as in
    an address. With ``verify``, the certificate of a proof is checked again, and nothing else is done. ``data`` is the
    file of a capture, whose calls are looked at; what it does not touch fails no check, unless ``everywhere``.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    deadline: float = 10.0  # seconds for one section
    url: str = ""
    names: tuple[str, ...] = ()
    frame_ancestors: str = "*"
    public: bool = False
    play: bool = True
    log: str = LOG_FORMATS[0]
    requests_per_peer: int = 64  # questions of one address under way at the same time
    forwarded_allow_ips: str = ""
    cache: int = 64
    targets: tuple[str, ...] = ()
    memory: int = 0
    workers: int = 0
    loading: float = 120.0  # seconds to import the targets
    token: str = ""
    open: bool = False
    check: bool = False
    format: str = REPORT_FORMATS[0]
    save_html: str = ""
    allow: tuple[str, ...] = ()
    recipe: tuple[tuple[str, str], ...] = ()
    publish: str = ""
    verify: str = ""
    op: tuple[str, ...] = ()
    sliders: str = ""
    lessons: str = ""
    strict: bool = False
    verbose: bool = False
    baseline: str = ""
    write_baseline: bool = False
    data: str = ""
    everywhere: bool = False
    next_port: bool = False

    @property
    def root(self) -> str:
        """The path of the site on its host, without a slash at the end; "" where it has the host for itself."""
        return urlsplit(self.url).path

    @property
    def reports(self) -> bool:
        """Whether a report or a site is written and nothing is served."""
        return self.check or bool(self.save_html or self.publish)


def parse_settings(arguments: Sequence[str], environment: Mapping[str, str], version: str) -> Settings:
    """Parse the settings from arguments and environment; ends the process with a sentence where they are invalid."""
    given = vars(_parser(version).parse_intermixed_args(arguments))
    chosen: dict[str, Any] = {"targets": tuple(dict.fromkeys(given["targets"]))}
    variables = _variables(environment)
    for name, option in OPTIONS.items():
        where, text = f"--{name.replace('_', '-')}", given[name]
        if text is None:
            where = _PREFIX + name.upper()
            text = variables.get(where)
        if text is None:
            continue
        try:
            chosen[name] = option.read(text)
        except BadSetting as problem:
            end_with(f"{where} {problem}, not {text!r}.")
    if chosen.get("public"):
        chosen = PUBLIC | chosen
    if chosen["targets"]:
        chosen = _TARGET_DEFAULTS | {"token": secrets.token_hex(16), "next_port": "port" not in chosen} | chosen
    chosen["names"] = chosen.pop("name", ())
    _check_combination(Settings(**chosen), given)
    return Settings(**chosen)


def _variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that set an option; ends the process with a sentence where one is of no option."""
    ours = {
        name: text
        for name, text in environment.items()
        if name.startswith(_PREFIX) and text and _KUBERNETES.fullmatch(f"{name}={text}") is None
    }
    allowed = [_PREFIX + name.upper() for name in OPTIONS]
    for name in sorted(ours.keys() - allowed):
        close = closest_match(name.removeprefix(_PREFIX), [each.removeprefix(_PREFIX) for each in allowed])
        hint = f"did you mean {_PREFIX}{close}? Allowed" if close else "allowed"
        end_with(f"{name} in the environment sets no option; {hint} are {', '.join(allowed)}.")
    return ours


def _check_combination(chosen: Settings, arguments: Mapping[str, Any]) -> None:
    """End the process where options are given that exclude one another."""
    if chosen.publish and (chosen.check or chosen.save_html):
        end_with("--publish writes a site and no report; leave it out, or --check and --save-html.")
    for name in ("op", "sliders"):
        if arguments[name] is not None and not chosen.publish:
            end_with(f"--{name} is for --publish, which writes a site; add it, or leave --{name} out.")
    if chosen.reports and not chosen.publish and not chosen.targets:
        flag = "--check" if chosen.check else "--save-html"
        end_with(f"{flag} needs the file or module to look at, like gradloupe my_ops.py {flag}.")
    if chosen.recipe and not chosen.targets:
        end_with("--recipe needs the file or module of the Function, like gradloupe my_ops.py --recipe ...")
    if chosen.data and not chosen.targets:
        end_with("--data needs the file or module of the Functions, like gradloupe my_ops.py --data step.gradloupe.")
    if chosen.write_baseline and not chosen.baseline:
        end_with("--write-baseline needs the file to write, like --baseline gradloupe.json --write-baseline.")
    for name in ("format", "allow", "baseline", "strict", "verbose", "everywhere"):
        if arguments[name] is not None and not chosen.check:
            end_with(f"--{name} is for --check, which reports in the terminal; add it, or leave --{name} out.")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        end_with(f"{message}; gradloupe --help lists the options.")


def end_with(sentence: str) -> NoReturn:
    """End the process with a sentence on what is wrong with its options."""
    sys.stderr.write(f"gradloupe: {sentence}\n")
    raise SystemExit(2)


def _parser(version: str) -> argparse.ArgumentParser:
    parser = _Parser(
        "gradloupe",
        usage="gradloupe [TARGET ...] [options]",
        description="A loupe for gradients: see what custom torch.autograd.Functions compute,\n"
        "in the browser, in the terminal (--check) or as a page (--save-html).",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument_group("What is looked at").add_argument(
        "targets",
        nargs="*",
        metavar="TARGET",
        help="a file (my_ops.py) or module (package.module) with Functions of your own; :Name after it is one of them."
        " Without any there is the gallery",
    )
    groups = {title: parser.add_argument_group(title) for title in OPTION_GROUPS}
    for name, option in OPTIONS.items():
        flag, group = f"--{name.replace('_', '-')}", groups[option.group]
        if option.read is boolean:
            group.add_argument(flag, action="store_const", const="1", help=option.help)
        elif option.between:
            group.add_argument(flag, action=_Listed, help=option.help, metavar=option.metavar)
        else:
            group.add_argument(flag, help=option.help, metavar=option.metavar)
    parser.add_argument("--version", action="version", version=version)
    return parser


class _Listed(argparse.Action):
    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: Any = None) -> None:
        before = getattr(namespace, self.dest)
        setattr(namespace, self.dest, values if before is None else f"{before}{OPTIONS[self.dest].between}{values}")
