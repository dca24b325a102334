"""Detection of kinks, cusps, jumps and poles of a forward: candidates, localization, one-sided limits, classification.

What a backward should return at such points is decided in ``verdict``.
"""
