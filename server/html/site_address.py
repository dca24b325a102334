"""What the address of a site says of where it can be reached."""

from __future__ import annotations

from contextlib import suppress
from ipaddress import ip_address
from urllib.parse import urlsplit


def is_local(base: str) -> bool:
    """Whether the site is on a machine or in a network of its reader's own, which the web does not reach."""
    host = urlsplit(base).hostname or ""
    with suppress(ValueError):
        return ip_address(host).is_private
    return host == "localhost" or host.endswith(".localhost")
