"""Numbers as text: rounding to few digits, named constants, typographic signs.

Sentences are composed in ``sentences`` and in the packages that they are about.
"""
