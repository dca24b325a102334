"""The words of the second order: what is said of forward and backward, said of grad_x and of double backward."""

from __future__ import annotations

import re

_WORDS = re.compile(r"(?<!double )\b(forward|backward)\b|(?<!its own )\bgrad_output\b", re.ASCII)
# From here on somebody else is quoted.
_QUOTED = " raised "


def further(sentence: str, grad_input: str) -> str:
    """The same sentence one derivative further on, where ``grad_input`` (as ``grad_x[0,1]``) stands for forward.

    What a Function said when it raised stays as it is.
    """
    ours, raised, theirs = sentence.partition(_QUOTED)
    words = {"forward": grad_input, "backward": "double backward", "grad_output": "its own grad_output"}
    said = _WORDS.sub(lambda found: words[found[0]], ours) + raised + theirs
    return f"D{said[1:]}" if said.startswith("double") else said
