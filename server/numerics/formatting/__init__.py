"""Numbers as text: rounding to few digits, named constants, typographic signs."""
