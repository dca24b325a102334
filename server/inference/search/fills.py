"""Chooses the fill of a tensor from its name and the evidence on it, and stand-ins for objects with attributes."""

from __future__ import annotations

import math
import re
from types import SimpleNamespace
from typing import Any

import torch

from ..recipe.recipe import EXAMPLE_MODULE, NAMED_VALUES, Fill
from ..recipe.values import HIGH, LOW
from ..source import name_hints
from ..source.evidence import ArgumentEvidence

# Attributes that tell an nn.Module from any other object.
_OF_A_MODULE = set(dir(torch.nn.Module)) | {"training"}
_ONLY_A_MODULE = _OF_A_MODULE - set(dir(torch.Tensor))
_FLAG = re.compile(
    r"^(is|use|has|with|do|enable|return|apply|keep|no|need)_|^(training|inplace|causal|debug|verbose|bias|deterministic)$"
)
_TEXT = re.compile(r"(^|_)(mode|type|method|kind|reduction|name|act|activation)$")


def stand_in_objects(known: ArgumentEvidence) -> list[Any]:
    """Stand-ins for an argument whose attributes or keys are read; none where a recipe cannot write one."""
    if known.keys and not known.members:
        return [{each: _value(each) for each in dict.fromkeys(known.keys)}]
    read = dict.fromkeys(known.members)
    if not known.foreign:
        return []
    if set(read) <= _OF_A_MODULE and set(read) & _ONLY_A_MODULE:
        return [NAMED_VALUES[EXAMPLE_MODULE]]
    if known.methods & set(read):
        return []
    return [SimpleNamespace(**{each: _value(each) for each in read})]


def _value(name: str) -> Any:
    """A plausible value for an attribute of this name."""
    if _FLAG.search(name.lower()):
        return False
    if _TEXT.search(name.lower()):
        return "mean"
    return next(iter(name_hints.suggested_values(name)), 0.5)


# Normal values exceed upper bounds below this.
_LARGE = 2.0


def fill_from_evidence(known: ArgumentEvidence, shape: tuple[int, ...]) -> Fill | None:
    """The fill of a floating tensor that is not the first argument; None without evidence."""
    name = known.name.lower()
    if name_hints.is_tiny_constant(name, known.used):
        return "tiny"
    if known.few and shape == (2,):
        return "rising"
    if len(shape) < 2 and name_hints.LOWER_BOUND_NAME.search(name) and not name_hints.POSITIVE_NAME.search(name):
        return "negative"
    bounds = len(shape) < 2 and name_hints.UPPER_BOUND_NAME.search(name)
    return "positive" if bounds or known.step or name_hints.POSITIVE_NAME.search(name) else None


def fill_within_bounds(known: ArgumentEvidence) -> Fill | None:
    """The fill that keeps the bounds that the source demands of the values; None where it demands none."""
    low, high = -math.inf if known.low is None else known.low, math.inf if known.high is None else known.high
    if (low <= LOW and HIGH <= high < _LARGE) or (0 <= low <= LOW and high >= HIGH):
        return "positive"
    return "negative" if low <= -HIGH and -LOW <= high <= 0 else None
