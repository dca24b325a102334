"""Query strings: parsing and validating them, and writing the canonical (shortest) address of a section.

What the answers look like under each address is in ``routes``; the query of /compare is in ``compare``.
"""

from .address import (
    HIDEABLE_PARTS,
    PARAMETERS,
    THEMES,
    Address,
    canonical_address,
    curves_only,
    default_address,
    default_query_values,
    default_ranges,
    default_wrt2,
    names_of_scope,
)
from .numbers import BadQuery, read_float, write_number
from .parse import parse_query, read_address
from .representations import EMBED, PICTURES, REPRESENTATIONS, Representation, representation_at

__all__ = [
    "EMBED",
    "HIDEABLE_PARTS",
    "PARAMETERS",
    "PICTURES",
    "REPRESENTATIONS",
    "THEMES",
    "Address",
    "BadQuery",
    "Representation",
    "canonical_address",
    "curves_only",
    "default_address",
    "default_query_values",
    "default_ranges",
    "default_wrt2",
    "names_of_scope",
    "parse_query",
    "read_address",
    "read_float",
    "representation_at",
    "write_number",
]
