"""The report as one HTML page without scripts or other files, in light and dark, also for print."""

from base64 import b64encode
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache

from jinja2 import Environment
from markupsafe import Markup

from ... import __version__
from ..documents.text_alternative import code_markup
from ..documents.typography import typeset_number, typeset_powers
from ..documents.typography import typeset_sentence as typeset
from ..figure.sheet_svg import figure_svg
from ..html.assets import style_sheet
from ..html.environment import bare_environment
from ..html.inline_bundle import csp_hash
from ..html.op_markup import highlighted_lines, prose
from ..schema.op import is_described
from ..schema.verdict_words import MARKS, verdict_mark
from ..url.address import default_address
from .findings import XrayFinding
from .result import CheckResult, ExaminedFunction, Report

_WIDE, _NARROW = (920, 620), (280, 380)  # pixels of the pictures
_HIDDEN = ("title", "verdict")  # parts of a picture that the page has as text


@dataclass(frozen=True)
class Card:
    """One Function on the page: pictures as data URLs, and the source lines that findings point to."""

    found: ExaminedFunction
    place: str
    pictures: tuple[str, str] | None
    lines: tuple[Markup, ...]
    marked: dict[int, str]
    first: int

    @property
    def checked(self) -> CheckResult:
        """Its result."""
        return self.found.checked

    @property
    def grave(self) -> list[XrayFinding]:
        """Its errors and warnings."""
        return [each for each in self.checked.findings if each.level in ("error", "warning")]

    @property
    def notes(self) -> list[XrayFinding]:
        """Its findings of the level ``note``."""
        return [each for each in self.checked.findings if each.level == "note"]

    @property
    def fine(self) -> int:
        """How many checks passed."""
        return sum(each.level == "fine" for each in self.checked.findings)


def html_report(report: Report) -> bytes:
    """The HTML of a report."""
    cards = [_card(each, place) for place, each in enumerate(report.found, 1)]
    count = Counter(each.checked.verdict_name for each in report.found)
    style = Markup(style_sheet("report").decode())  # noqa: S704 - our own files
    policy = f"default-src 'none'; img-src data:; style-src {csp_hash(style)}; base-uri 'none'"
    context = {
        "report": report,
        "cards": cards,
        "counted": count.most_common(),
        "policy": f"{policy}; form-action 'none'",
        "style": style,
        "version": __version__,
    }
    return _environment().get_template("files/report.html").render(context).encode("utf-8", "replace")


@cache
def _environment() -> Environment:
    environment = bare_environment()
    environment.globals |= {
        "coded": code_markup,
        "prose": prose,
        "typeset": lambda text: typeset_powers(typeset(text)),
        "number": typeset_number,
        "marks": MARKS,
        "mark": verdict_mark,
    }
    return environment


def _card(examined: ExaminedFunction, place: int) -> Card:
    op, result = examined.op, examined.checked
    source, first = (op["source"], op["first_line"]) if op else ("", 1)
    warned = {each.line: "pointed" for each in result.findings if each.line and each.level == "warning"}
    marked = warned | {fault.line: "failed" for fault in result.faults if fault.line}
    lines = tuple(Markup(line) for line in highlighted_lines(source)) if source else ()  # noqa: S704 - pygments has escaped it
    return Card(examined, f"f{place}", _pictures(examined), lines, marked, first or 1)


def _pictures(examined: ExaminedFunction) -> tuple[str, str] | None:
    """The picture for wide windows and for narrow ones, None where nothing could be drawn."""
    op = examined.op
    if examined.curves is None or not examined.curves.columns or op is None or not is_described(op):
        return None
    address = replace(default_address(op), hide=_HIDDEN)
    wide, narrow = (
        figure_svg(examined.curves, replace(address, width=width, height=height)) for width, height in (_WIDE, _NARROW)
    )
    return _data(wide), _data(narrow)


def _data(picture: bytes) -> str:
    return f"data:image/svg+xml;base64,{b64encode(picture).decode()}"
