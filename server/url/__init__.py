"""Query strings: parsing and validating them, and writing the canonical (shortest) address of a section.

What the answers look like under each address is in ``routes``; the query of /compare is in ``compare``.
"""
