"""The page that is a file of its own: what stands in it, and what its sliders say."""

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
    """What every such page has alike."""
    library = assets.plotly("curves").rpartition("/")[2]
    return bundle(assets, ENTRY, library, STYLE)


def single(pages: Pages, view: View, grid: tuple[Axis, ...], pool: Pool, parts: Bundle) -> bytes:
    """The page of ``view`` with the answers of ``pool``, one for each place of the sliders, whose axes are ``grid``."""
    listed = [_described(view.op, view.address, axis) for axis in grid]
    answers = f'{{"axes":{orjson.dumps(listed).decode()},{pool.json()}}}'
    return pages.export(view, listed, answers.replace("<", "\\u003c"), parts)


def _described(op: dict[str, Any], address: Address, axis: Axis) -> dict[str, Any]:
    """An axis for the page: the text of each value, as addresses have it, and of the ``usual`` one, which they omit."""
    values = [texts(at(address, {axis.name: value}))[axis.name] for value in axis.values]
    usual = defaults(op, address.question.wrt)[axis.name]
    return {"name": axis.name, "kind": axis.kind, "values": values, "at": axis.at, "usual": usual}
