"""What each representation of a section can show; what an address names beyond that is refused, never dropped."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from ..protocol.errors import Refusal
from ..protocol.listed import listed
from ..protocol.views import DRAWN_VIEWS, VIEW_NAMES, WRITTEN_VIEWS
from .address import (
    CURVE_PARTS,
    FRAME_PARTS,
    HIDEABLE_PARTS,
    LAYOUTS,
    PARAMETERS,
    Address,
    curves_only,
    names_of_scope,
    query_values,
    without_display_options,
)
from .numbers import BadQuery

_OPTION_VIEWS = {name: parameter.views for name, parameter in PARAMETERS.items() if parameter.views}


# What other sites may do with it: nothing; read and show it; show it, even if it is of the user's own code, which they
# may not read; put it into a frame.
Sharing = Literal["nothing", "read", "show", "frame"]


@dataclass(frozen=True)
class Representation:
    """The ``views`` that it shows, the options of ``dress`` that change it, and the ``parts`` that it can hide.

    ``gist`` says what it is where addresses are explained, empty for one that only our own pages ask for; ``exported``
    where the page offers it for the section that is shown. ``crawled`` where search engines may follow, ``of_site``
    where it holds addresses or scripts of this site. It is ``strict`` where an option of another view than the one
    shown is refused, too; ``instead`` is what to do about a view that it does not show.
    """

    said: str
    media_type: str
    gist: str = ""
    views: tuple[str, ...] = ("curves",)
    dress: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    strict: bool = True
    instead: str = "take it from .json or the page"
    sharing: Sharing = "nothing"
    exported: bool = False
    crawled: bool = False
    of_site: bool = False


def _picture(media_type: str, gist: str, crawled: bool = False) -> Representation:
    dress, parts = ("theme", "hide", "width", "height"), ("title", "verdict", "legend", "controls", *CURVE_PARTS)
    return Representation(
        "the picture", media_type, gist, DRAWN_VIEWS, dress, parts, sharing="show", exported=True, crawled=crawled
    )


_PAGE_JSON = Representation(
    "this document",
    "application/json",
    views=("curves", *WRITTEN_VIEWS),
    dress=("hide",),
    parts=FRAME_PARTS,
    strict=False,
    instead="take it from .json",
    sharing="read",
)
_CERTIFICATE = Representation(
    "the certificate", "application/json", views=("curves", "proof"), strict=False, sharing="read"
)
_FILE = Representation(
    "the file",
    "text/html",
    "one file that works offline",
    dress=("theme", "hide", "sliders"),
    parts=HIDEABLE_PARTS,
    of_site=True,
)
# The page takes everything, because it hands on what it does not show.
PAGE = Representation(
    "the page", "text/html", "", VIEW_NAMES, tuple(names_of_scope("dress")), HIDEABLE_PARTS, strict=False, of_site=True
)
EMBED = Representation(
    "an embed",
    "text/html",
    dress=("theme", "hide", "width", "height"),
    parts=FRAME_PARTS,
    sharing="frame",
    of_site=True,
)
# By what the address of a section ends with, after a dot.
REPRESENTATIONS = {
    "svg": _picture("image/svg+xml", "a drawing"),
    "png": _picture("image/png", "a picture", crawled=True),  # which link previews show
    "pdf": _picture("application/pdf", "for print"),
    "csv": Representation("the table", "text/csv", "a table", VIEW_NAMES, strict=False, sharing="read", exported=True),
    "json": Representation(
        "the JSON", "application/json", "all numbers", VIEW_NAMES, strict=False, sharing="read", exported=True
    ),
    "page.json": _PAGE_JSON,
    "certificate.json": _CERTIFICATE,
    "html": _FILE,
    "py": Representation("the test", "text/x-python", "a test for pytest", sharing="read"),
}
PICTURES = tuple(ending for ending, shown in REPRESENTATIONS.items() if shown.sharing == "show")


def representation_at(path: str) -> Representation | None:
    """The one whose ending this path has; None where it has none."""
    endings = (ending for ending in REPRESENTATIONS if path.endswith(f".{ending}"))
    return REPRESENTATIONS.get(max(endings, key=len, default=""))


def check_representation(address: Address, shown: Representation) -> None:
    """Raises ``BadQuery`` for everything in ``address`` that this representation cannot show."""
    refusals = list(_refusals(address, shown))
    if refusals:
        raise BadQuery.of(refusals)


def _refusals(address: Address, shown: Representation) -> Iterator[Refusal]:
    asked = address.question
    if asked.view not in shown.views:
        allowed = listed(shown.views, "or")
        yield Refusal(
            "view",
            f"view={asked.view} cannot be shown by {shown.said}; allowed are {allowed}, so {shown.instead}.",
        )
    for name in names_of_scope("dress"):
        if name not in shown.dress and getattr(address, name) != PARAMETERS[name].default:
            yield Refusal(name, f"{name}={query_values(address)[name]} has no effect on {shown.said}; leave it out.")
    parts = [part for part in address.hide if part not in shown.parts]
    if "hide" in shown.dress and parts:
        yield Refusal(
            "hide",
            f"hide={','.join(parts)} names what {shown.said} does not have; it can hide {listed(shown.parts)}.",
        )
    if "zoom" in address.hide and "sliders" in shown.dress and address.sliders:
        yield Refusal("hide", "hide=zoom makes a picture that stands still; leave the sliders out, or zoom in.")
    measured = [part for part in address.hide if part in CURVE_PARTS]
    if measured and asked.view != "curves" and shown.strict:
        yield Refusal("hide", f"hide={','.join(measured)} has no effect on view={asked.view}; leave it out.")
    if shown.strict:
        yield from _of_other_views(address)


def _of_other_views(address: Address) -> Iterator[Refusal]:
    view = address.question.view
    for name, views in _OPTION_VIEWS.items():
        if view not in views and getattr(address.question, name) != PARAMETERS[name].default:
            where, value = f"view={listed(views, 'or')}", query_values(address)[name]
            yield Refusal(name, f"{name}={value} has no effect on view={view}; leave it out, or ask for {where}.")
    if view != "curves" and address.layout != LAYOUTS[0]:
        yield Refusal("layout", f"layout={address.layout} has no effect on view={view}; leave it out.")


def pictured_address(address: Address, shown: Representation = REPRESENTATIONS["png"]) -> Address:
    """The address of what ``address`` shows, undressed, as another representation can show it: else of its curves."""
    plain = without_display_options(address)
    asked = plain.question
    if asked.view not in shown.views or asked.view == "curves":
        return curves_only(plain)
    others = {name: PARAMETERS[name].default for name, views in _OPTION_VIEWS.items() if asked.view not in views}
    return replace(plain, layout=LAYOUTS[0], question=replace(asked, **others))


def pictured_parts(hide: tuple[str, ...], view: str) -> tuple[str, ...]:
    """What of these parts a picture of this view can leave out, too."""
    there = REPRESENTATIONS["png"].parts
    return tuple(part for part in hide if part in there and (view == "curves" or part not in CURVE_PARTS))
