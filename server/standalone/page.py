"""The HTML of an exported file: the page, its answers and the description of its sliders."""

from __future__ import annotations

from typing import Any

import orjson

from ..html.assets import Assets
from ..html.inline_bundle import Bundle, bundle
from ..html.pages import Pages, View
from ..url.address import Address, defaults, texts
from .sliders import Axis, at
from .string_pool import Pool

ENTRY = "js/pages/export.js"
STYLE = "pages/export.css"


def parts(assets: Assets) -> Bundle:
    """The scripts and styles that every exported file has."""
    library = assets.plotly("curves").rpartition("/")[2]
    return bundle(assets, ENTRY, library, STYLE)


def single(pages: Pages, view: View, grid: tuple[Axis, ...], pool: Pool, parts: Bundle) -> bytes:
    """The page of ``view`` with the answers in ``pool``, one for each position of the sliders on ``grid``."""
    listed = [_described(view.op, view.address, axis) for axis in grid]
    answers = f'{{"axes":{orjson.dumps(listed).decode()},{pool.json()}}}'
    return pages.export(view, listed, answers.replace("<", "\\u003c"), parts)


def _described(op: dict[str, Any], address: Address, axis: Axis) -> dict[str, Any]:
    """An axis as JSON for the page: the text of each value as in a query, and that of the default, ``usual``."""
    values = [texts(at(address, {axis.name: value}))[axis.name] for value in axis.values]
    usual = defaults(op, address.question.wrt)[axis.name]
    return {"name": axis.name, "kind": axis.kind, "values": values, "at": axis.at, "usual": usual}
