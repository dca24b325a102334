"""Meta tags in the head of a page: canonical link, Open Graph, robots, oEmbed; and whether a site is local."""

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from ipaddress import ip_address
from urllib.parse import quote, urlsplit

from ..figure.sheet_svg import PREVIEW_SIZE
from ..schema.op import OpDescription
from ..schema.section import SectionRecord
from ..schema.verdict_words import verdict_name
from ..url.address import Address, canonical_address, without_display_options
from ..url.representations import pictured_address

_GALLERY_DESCRIPTION = (
    "A loupe for gradients: see what a custom torch.autograd.Function computes, and whether its backward is the "
    "derivative of its forward."
)


@dataclass(frozen=True)
class SocialTags:
    """The canonical address, texts and picture of a page; ``oembed`` is empty where there is no figure."""

    url: str
    title: str
    description: str
    robots: str
    image: str = ""
    oembed: str = ""
    size: tuple[int, int] = PREVIEW_SIZE


def section_tags(
    base: str, op: OpDescription, address: Address, header: SectionRecord | None, indexed: bool
) -> SocialTags:
    """The tags of the page of a section or its embed; ``header`` is the answer's, None while it is being measured.

    Only the default section of an op is indexed: there is no end to the others.
    """
    url = base + canonical_address(op, without_display_options(address))
    asked = quote(base + canonical_address(op, replace(address, sliders=())), safe="")
    return SocialTags(
        url=url,
        title=op["title"],
        description=_said(op, header),
        robots=_robots(indexed and "?" not in url),
        image=base + canonical_address(op, pictured_address(address), "/ops/{name}.png"),
        oembed=f"{base}/oembed?url={asked}",
    )


def gallery_tags(base: str, indexed: bool) -> SocialTags:
    """The tags of the gallery, which has no figure of its own."""
    return SocialTags(f"{base}/", "Gradloupe", _GALLERY_DESCRIPTION, _robots(indexed))


GLOSSARY_DESCRIPTION = "The words for what a backward does, each in a sentence or two and with a figure."
PLAY_DESCRIPTION = "Write a torch.autograd.Function in the page, and see at once what its backward computes."
EXERCISES_DESCRIPTION = (
    "Backwards to mend: the curves follow what is typed, hints come one at a time, and a judge grades."
)
LESSONS_DESCRIPTION = "Short lessons on backward: one question, one live figure and one control each."


def plain_tags(url: str, title: str, description: str, indexed: bool) -> SocialTags:
    """The tags of a page of words, without a picture."""
    return SocialTags(url, title, description, _robots(indexed))


def _robots(indexed: bool) -> str:
    return "index, follow" if indexed else "noindex, follow"


def _said(op: OpDescription, header: SectionRecord | None) -> str:
    """The word of the verdict and its first sentence; the first paragraph of the docstring where there is none."""
    if header is None or header["failure"] is not None:
        said = op["doc"].split("\n\n")[0]
    else:
        word = verdict_name(header["verdict"]["word"], header["claim"])
        first = re.split(r"(?<=[.:]) (?=[A-Z])", header["verdict"]["sentence"], maxsplit=1)[0]
        said = f"{word[:1].upper()}{word[1:]}: {first}"
    return " ".join(said.replace("`", "").split())


def is_local(base: str) -> bool:
    """Whether the site is on a machine or in a network of its reader's own, which the web does not reach."""
    host = urlsplit(base).hostname or ""
    with suppress(ValueError):
        return ip_address(host).is_private
    return host == "localhost" or host.endswith(".localhost")
