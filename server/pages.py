"""The HTML pages: what each template is given."""

from __future__ import annotations

from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from .address import Address, canonical, defaults, extents, texts
from .assets import Assets
from .highlight import highlight
from .mathml import mathml
from .prose import prose
from .sparkline import sparkline

TEMPLATES = Path(__file__).parents[1] / "templates"


class Pages:
    """Every page as bytes of HTML."""

    def __init__(self, assets: Assets) -> None:
        self._environment = Environment(
            loader=FileSystemLoader(TEMPLATES),
            autoescape=True,
            undefined=StrictUndefined,
            auto_reload=False,
        )
        self._environment.globals |= {
            "static": assets.address,
            "mathml": mathml,
            "prose": prose,
            "highlight": highlight,
            "sparkline": sparkline,
        }

    def gallery(self, ops: dict[str, dict[str, Any]], thumbnails: dict[str, Any], device: dict[str, Any]) -> bytes:
        """All ops by their groups, each with its small curves."""
        cards = [op | {"thumbnail": thumbnails[name], "word": thumbnails[name]["word"]} for name, op in ops.items()]
        cards.sort(key=lambda op: op["group"])
        groups = [(group, list(members)) for group, members in groupby(cards, key=lambda op: op["group"])]
        return self._render("gallery.html", {"groups": groups, "torch": device["torch"], "device": _name(device)})

    def op(self, op: dict[str, Any], address: Address, device: dict[str, Any]) -> bytes:
        """One op with its controls as the address sets them; the curves are fetched by the page."""
        asked = address.question
        context = {
            "op": op,
            "question": asdict(asked) | {"wrt": str(asked.wrt), "of": str(asked.of), "layout": address.layout},
            "values": texts(address),
            "defaults": defaults(op, asked.wrt),
            "extents": extents(op),
            "address": canonical(op, address),
            "device": device,
        }
        return self._render("op.html", context)

    def waiting(self, title: str, address_json: str) -> bytes:
        """What stands there until torch is loaded; ``address_json`` answers when it is."""
        return self._render("waiting.html", {"title": title, "address_json": address_json})

    def error(self, status: int, title: str, detail: str, op: str | None) -> bytes:
        """Why there is no such page; ``op`` is one that there is."""
        return self._render("error.html", {"status": status, "title": title, "detail": detail, "op": op})

    def docs(self) -> bytes:
        """The description of the API, drawn by Swagger UI from our own files."""
        return self._render("docs.html", {})

    def _render(self, template: str, context: dict[str, Any]) -> bytes:
        return self._environment.get_template(template).render(context).encode("utf-8", "replace")


def _name(device: dict[str, Any]) -> str:
    return next(str(each["name"]) for each in device["devices"] if each["kind"] == device["auto"])
