"""Detection of kinks, cusps, jumps and poles of a forward: candidates, localization, limits, classification."""
