"""The settings: from the command line, else from ``GRADLOUPE_…`` in the environment, else the default."""

import argparse
import re
import secrets
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NoReturn
from urllib.parse import urlsplit

from ..protocol.listed import closest_match
from .options import (
    OPTION_GROUPS,
    BadSetting,
    Option,
    boolean,
    file,
    flag,
    folder,
    frame_sources,
    function_names,
    host_names,
    memory,
    new_folder,
    one_of,
    option,
    proxies,
    recipes,
    seconds,
    token,
    url,
    whole,
)

LOG_FORMATS = ("off", "text", "json")
REPORT_FORMATS = ("text", "json", "junit", "sarif")
_OWN, _RUN, _WHERE, _WHO = range(len(OPTION_GROUPS))

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
    """How gradloupe is run: each field is the option of its name, but for ``targets`` and ``next_port``.

    ``targets`` are the files and modules with the user's own Functions; without any there is the gallery alone. Then
    0 ``workers`` are as many as there are processors. ``next_port`` says whether another port may be used where
    ``port`` is taken.
    """

    targets: tuple[str, ...] = ()
    next_port: bool = False
    check: bool = flag(
        _OWN,
        "no server: report on the Functions in the terminal. Exit code 0: all is well, 1: one is wrong or undecided, "
        "2: nothing could be judged, or a target was not loaded",
    )
    format: str = option(
        REPORT_FORMATS[0],
        _OWN,
        one_of(REPORT_FORMATS),
        "FORM",
        f"of that report: {', '.join(REPORT_FORMATS)} (default: text)",
    )
    allow: tuple[str, ...] = option(
        (),
        _OWN,
        function_names,
        "NAME",
        "a Function that may differ without failing the check, or NAME:CHECK, one check of it that may fail, such as"
        " Mine:SECOND-ORDER; may be repeated",
        between=" ",
    )
    recipe: tuple[tuple[str, str], ...] = option(
        (),
        _OWN,
        recipes,
        '"NAME: RECIPE"',
        'how a Function is called, as in "Mine: x: float64[3,4]; k = 2"; may be repeated',
        between="\n",
    )
    data: str = option(
        "", _OWN, str, "FILE", "what gradloupe.watch saved: your numbers under the curves, in the calls of your step"
    )
    everywhere: bool = flag(_OWN, "with --check --data: fail for what your data do not touch, too")
    verbose: bool = flag(_OWN, "with --check: say the notes of the X-ray, too")
    baseline: str = option(
        "", _OWN, file, "FILE", "with --check: a file of findings that are known; only new ones fail"
    )
    write_baseline: bool = flag(_OWN, "with --baseline: write that file from what is found now")
    strict: bool = flag(_OWN, "with --check: warnings and remarks fail, too")
    save_html: str = option("", _OWN, file, "FILE", "no server: write the report as one page that needs no other file")
    verify: str = option(
        "",
        _OWN,
        str,
        "FILE",
        "no server: check the certificate of a proof again, by the file it names or a TARGET; exit code 0 if it holds",
    )
    publish: str = option(
        "",
        _OWN,
        new_folder,
        "FOLDER",
        "no server: write a site that needs none, for any web server; without a TARGET the gallery",
    )
    op: tuple[str, ...] = option(
        (), _OWN, function_names, "NAME", "with --publish: a Function to publish; may be repeated", between=" "
    )
    sliders: str = option(
        "", _OWN, str, "COUNTS", "with --publish: how many values a slider has, like beta:9,grad_output:3"
    )
    lessons: str = option(
        "",
        _OWN,
        folder,
        "FOLDER",
        "a folder with lessons and exercises of your own (default: those beside your files)",
    )
    open: bool = flag(_OWN, "open the browser")
    token: str = option(
        "", _OWN, token, "TEXT", "the token that a request for a change must carry (default: a new random one)"
    )
    deadline: float = option(
        10.0, _RUN, seconds, "S", "how long a Function may take for one section (default: 10; 5 with --public)"
    )
    loading: float = option(
        120.0, _RUN, seconds, "S", "how long your file may take to be imported (default: 30; the gallery: 120)"
    )
    workers: int = option(
        0,
        _RUN,
        whole(1, 64),
        "N",
        "how many processes answer, each on a processor of its own (default: the processors that may be used, 8 at "
        "most; 1 with a TARGET, whose Functions have one more)",
    )
    memory: int = option(
        0,
        _RUN,
        memory,
        "MIB",
        "MiB a worker may hold, 512 at least; 0: no bound (default: 4096 for your own; the gallery: 0)",
    )
    host: str = option("127.0.0.1", _WHERE, str, "ADDRESS", "the address to listen on (default: 127.0.0.1)")
    port: int = option(
        8000,
        _WHERE,
        whole(0, 65535),
        "N",
        "the port; 0 takes a free one (default: 8000, or the next with a TARGET)",
    )
    url: str = option("", _WHERE, url, "URL", "the address people use, its path included: for links")
    name: tuple[str, ...] = option(
        (), _WHERE, host_names, "NAME", "another host name it answers to; may be repeated", between=" "
    )
    log: str = option(
        LOG_FORMATS[0], _WHERE, one_of(LOG_FORMATS), "FORM", "a line for each request: off, text or json (default: off)"
    )
    cache: int = option(64, _WHERE, whole(0, 65536), "MIB", "MiB of answers kept as they were sent (default: 64)")
    frame_ancestors: str = option(
        "*",
        _WHO,
        frame_sources,
        "SOURCES",
        "who may embed its figures (default: *, everybody; 'self' with a TARGET)",
    )
    public: bool = flag(_WHO, "strangers ask: a shorter deadline, and no metrics for them")
    play: bool = option(
        True,
        _WHO,
        boolean,
        "",
        "code may be edited and run by who may use it, in a sandbox without files, network and other processes "
        "(default: on; off with --public)",
    )
    requests_per_peer: int = option(
        64,
        _WHO,
        whole(0, 65535),
        "N",
        "new questions of one address under way at once; 0: no bound (default: 64; 32 with --public)",
    )
    forwarded_allow_ips: str = option(
        "", _WHO, proxies, "ADDRESSES", "proxies that are trusted to say who asks (default: none)"
    )

    @property
    def root(self) -> str:
        """The path of the site on its host, without a slash at the end; "" where it has the host for itself."""
        return urlsplit(self.url).path

    @property
    def reports(self) -> bool:
        """Whether a report or a site is written and nothing is served."""
        return self.check or bool(self.save_html or self.publish)


OPTIONS: dict[str, Option] = {
    each.name: each.metadata["option"] for each in fields(Settings) if "option" in each.metadata
}


def parse_settings(arguments: Sequence[str], environment: Mapping[str, str], version: str) -> Settings:
    """Parse the settings from arguments and environment; ends the process with a sentence where they are invalid."""
    given = vars(_parser(version).parse_intermixed_args(arguments))
    chosen: dict[str, Any] = {"targets": tuple(dict.fromkeys(given["targets"]))}
    variables = _variables(environment)
    for name, declared in OPTIONS.items():
        where, text = f"--{name.replace('_', '-')}", given[name]
        if text is None:
            where = _PREFIX + name.upper()
            text = variables.get(where)
        if text is None:
            continue
        try:
            chosen[name] = declared.read(text)
        except BadSetting as problem:
            end_with(f"{where} {problem}, not {text!r}.")
    if chosen.get("public"):
        chosen = PUBLIC | chosen
    if chosen["targets"]:
        chosen = _TARGET_DEFAULTS | {"token": secrets.token_hex(16), "next_port": "port" not in chosen} | chosen
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
    for name, declared in OPTIONS.items():
        flag, group = f"--{name.replace('_', '-')}", groups[declared.group]
        if declared.read is boolean:
            group.add_argument(flag, action="store_const", const="1", help=declared.help)
        elif declared.between:
            group.add_argument(flag, action=_Listed, help=declared.help, metavar=declared.metavar)
        else:
            group.add_argument(flag, help=declared.help, metavar=declared.metavar)
    parser.add_argument("--version", action="version", version=version)
    return parser


class _Listed(argparse.Action):
    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: Any = None) -> None:
        before = getattr(namespace, self.dest)
        setattr(namespace, self.dest, values if before is None else f"{before}{OPTIONS[self.dest].between}{values}")
