"""What a page says of itself in its head: to search engines, to chats that unfurl a link, to whoever embeds it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from ..figure import PREVIEW
from ..url.address import Address, canonical, plain

GALLERY = (
    "A loupe for gradients: see what a custom torch.autograd.Function computes, and whether its backward tells the same"
    " story."
)


@dataclass(frozen=True)
class Social:
    """The canonical address, and the words and the picture of it; ``oembed`` is empty where there is no figure."""

    url: str
    title: str
    description: str
    robots: str
    image: str = ""
    oembed: tuple[tuple[str, str], ...] = ()
    size: tuple[int, int] = PREVIEW


def of_section(base: str, op: dict[str, Any], address: Address, header: dict[str, Any] | None, indexed: bool) -> Social:
    """For the page of a section or its embed; ``header`` is that of the answer, None while it is being measured.

    Search engines are offered an op as it is by default, and none of its endlessly many sections.
    """
    url = base + canonical(op, plain(address))
    asked = quote(base + canonical(op, replace(address, sliders=())), safe="")
    return Social(
        url=url,
        title=op["title"],
        description=_said(op, header),
        robots=_robots(indexed and "?" not in url),
        image=_preview(base, op, address),
        oembed=tuple(
            (media_type, f"{base}/oembed?format={form}&url={asked}")
            for form, media_type in (("json", "application/json+oembed"), ("xml", "text/xml+oembed"))
        ),
    )


def of_gallery(base: str, indexed: bool) -> Social:
    """For the gallery, which has no figure of its own."""
    return Social(f"{base}/", "Gradloupe", GALLERY, _robots(indexed))


def _preview(base: str, op: dict[str, Any], address: Address) -> str:
    """The picture that goes with a link to this section."""
    return base + canonical(op, plain(address), "/ops/{name}.png")


def _robots(indexed: bool) -> str:
    return "index, follow" if indexed else "noindex, follow"


def _said(op: dict[str, Any], header: dict[str, Any] | None) -> str:
    """The verdict and its first sentence; what the op is for as long as there is none."""
    if header is None or header["failure"] is not None:
        said = op["doc"].split("\n\n")[0]
    else:
        word = header["verdict"]["word"]
        first = re.split(r"(?<=[.:]) (?=[A-Z])", header["verdict"]["sentence"], maxsplit=1)[0]
        said = f"{word[:1].upper()}{word[1:]}: {first}"
    return " ".join(said.replace("`", "").split())
