"""The HTML of an exported file: the page, its answers and the description of its sliders."""

from __future__ import annotations

from typing import Any

import orjson

from ..html.assets import Assets
from ..html.inline_bundle import Bundle, build_bundle
from ..html.pages import Pages, SectionPage
from ..url.address import Address, default_query_values, query_values
from .sliders import SliderAxis, address_at
from .string_pool import StringPool

_ENTRY = "js/pages/export.js"
_STYLE = "pages/export.css"


def export_bundle(assets: Assets) -> Bundle:
    """The scripts and styles that every exported file has."""
    library = assets.plotly("curves").rpartition("/")[2]
    return build_bundle(assets, _ENTRY, library, _STYLE)


def export_page(
    pages: Pages, view: SectionPage, grid: tuple[SliderAxis, ...], pool: StringPool, parts: Bundle
) -> bytes:
    """The page of ``view`` with the answers in ``pool``, one for each position of the sliders on ``grid``."""
    listed = [_described(view.op, view.address, axis) for axis in grid]
    answers = f'{{"axes":{orjson.dumps(listed).decode()},{pool.json()}}}'
    return pages.export(view, listed, answers.replace("<", "\\u003c"), parts)


def _described(op: dict[str, Any], address: Address, axis: SliderAxis) -> dict[str, Any]:
    """An axis as JSON for the page: the text of each value as in a query, and that of the default, ``usual``."""
    values = [query_values(address_at(address, {axis.name: value}))[axis.name] for value in axis.values]
    usual = default_query_values(op, address.question.wrt)[axis.name]
    return {"name": axis.name, "kind": axis.kind, "values": values, "at": axis.at, "usual": usual}
