"""What each representation of a section can show; what an address names beyond that is refused, never dropped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..protocol.errors import Refusal
from ..protocol.views import DRAWN_VIEWS, VIEW_NAMES, WRITTEN_VIEWS
from .address import (
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

_DRESS = ("theme", "hide", "width", "height", "sliders")
_OPTION_VIEWS = {name: parameter.views for name, parameter in PARAMETERS.items() if parameter.views}


@dataclass(frozen=True)
class Representation:
    """The ``views`` that it shows, the options of ``dress`` that change it, and the ``parts`` that it can hide.

    ``strict`` where an option of another view than the one shown is refused, too; ``instead`` is what to do about a
    view that it does not show.
    """

    said: str
    views: tuple[str, ...] = ("curves",)
    dress: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    strict: bool = True
    instead: str = "take it from .json or the page"


_PICTURE_DRESS = ("theme", "hide", "width", "height")
_PICTURE_PARTS = ("title", "verdict", "legend", "controls")
_FILE = Representation("the file", dress=("theme", "hide", "sliders"), parts=HIDEABLE_PARTS)
_EMBED = Representation("an embed", dress=("theme", "hide", "width", "height"), parts=HIDEABLE_PARTS)
_PAGE_JSON = Representation("this document", ("curves", *WRITTEN_VIEWS), strict=False, instead="take it from .json")


def _picture(said: str) -> Representation:
    return Representation(said, DRAWN_VIEWS, _PICTURE_DRESS, _PICTURE_PARTS)


# By the ending of the address; the page takes everything, because it hands on what it does not show.
REPRESENTATIONS = {
    "": Representation("the page", VIEW_NAMES, _DRESS, HIDEABLE_PARTS, strict=False),
    "json": Representation("the JSON", VIEW_NAMES, strict=False),
    "csv": Representation("the table", VIEW_NAMES, strict=False),
    "page.json": _PAGE_JSON,
    "svg": _picture("the picture"),
    "png": _picture("the picture"),
    "pdf": _picture("the picture"),
    "py": Representation("the test"),
    "html": _FILE,
    "size.json": _FILE,
    "embed": _EMBED,
}


def check_representation(address: Address, ending: str) -> None:
    """Raises ``BadQuery`` for everything in ``address`` that the representation with this ending cannot show."""
    refusals = list(_refusals(address, REPRESENTATIONS[ending]))
    if refusals:
        raise BadQuery.of(refusals)


def _refusals(address: Address, shown: Representation) -> Iterator[Refusal]:
    asked, values = address.question, query_values(address)
    if asked.view not in shown.views:
        allowed = _listed(shown.views)
        yield Refusal(
            "view",
            f"view={asked.view} cannot be shown by {shown.said}; allowed are {allowed}, so {shown.instead}.",
        )
    for name in names_of_scope("dress"):
        if name not in shown.dress and getattr(address, name) != PARAMETERS[name].default:
            yield Refusal(name, f"{name}={values[name]} has no effect on {shown.said}; leave it out.")
    parts = [part for part in address.hide if part not in shown.parts]
    if "hide" in shown.dress and parts:
        yield Refusal(
            "hide",
            f"hide={','.join(parts)} names what {shown.said} does not have; it can hide {_listed(shown.parts, 'and')}.",
        )
    if shown.strict:
        yield from _of_other_views(address, values)


def _of_other_views(address: Address, values: dict[str, str]) -> Iterator[Refusal]:
    view = address.question.view
    for name, views in _OPTION_VIEWS.items():
        if view not in views and getattr(address.question, name) != PARAMETERS[name].default:
            where = f"view={_listed(views)}"
            yield Refusal(
                name, f"{name}={values[name]} has no effect on view={view}; leave it out, or ask for {where}."
            )
    if view != "curves" and address.layout != LAYOUTS[0]:
        yield Refusal("layout", f"layout={address.layout} has no effect on view={view}; leave it out.")


def _listed(words: tuple[str, ...], last: str = "or") -> str:
    return f" {last} ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


def pictured_address(address: Address, ending: str = "png") -> Address:
    """The address of what ``address`` shows, undressed, as another representation can show it: else of its curves."""
    plain = without_display_options(address)
    asked = plain.question
    if asked.view not in REPRESENTATIONS[ending].views or asked.view == "curves":
        return curves_only(plain)
    others = {name: PARAMETERS[name].default for name, views in _OPTION_VIEWS.items() if asked.view not in views}
    return replace(plain, layout=LAYOUTS[0], question=replace(asked, **others))
