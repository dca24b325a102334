"""The words of a verdict and the ids of what fails or warns, by what they do to a check."""

from __future__ import annotations

from ..schema.verdict_words import VERDICTS

# Words of what could not be judged at all.
UNJUDGED_WORDS = tuple(word for word, each in VERDICTS.items() if not each.judged)
# Words of a verdict that --allow forgives.
FORGIVABLE_WORDS = tuple(word for word, each in VERDICTS.items() if each.forgivable)
VERDICT_ID = "GRADIENT"  # the id of the verdict, and of the check of the X-ray that asks the same
# Those of warnings that are of no check: a default that was left, a difference that is a remark, a likelier call in
# which backward raises.
DEFAULT_ID, REMARK_ID, PASSED_OVER_ID = WARNING_IDS = ("default", "remark", "backward")
# Errors of the X-ray that it waives itself where an Op declares a surrogate.
DIFFERENCE_IDS = frozenset((VERDICT_ID, "SECOND-ORDER", "NONLINEAR", "SWAPPED", "GRAD-NONE", "OUTPUT-GRAD-IGNORED"))
# Those that say nothing of a step in which no number gets a wrong gradient.
UNTOUCHED_IDS = DIFFERENCE_IDS | {"OTHER-CALLS"}
# Words of a verdict that errors override by which a gradient is wrong.
OVERRULED_WORDS = (*(word for word, each in VERDICTS.items() if each.follows), "undecided")
