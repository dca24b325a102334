"""Chooses the fill of a tensor from its name and the evidence on it, and stand-ins for objects with attributes."""

from __future__ import annotations

import math
import re
from types import SimpleNamespace
from typing import Any

import torch

from ..recipe.recipe import MENU, MODULE, Fill
from ..recipe.values import HIGH, LOW
from ..source import name_hints
from ..source.evidence import Evidence

# Attributes that tell an nn.Module from any other object.
OF_A_MODULE = set(dir(torch.nn.Module)) | {"training"}
ONLY_A_MODULE = OF_A_MODULE - set(dir(torch.Tensor))
FLAG = re.compile(
    r"^(is|use|has|with|do|enable|return|apply|keep|no|need)_|^(training|inplace|causal|debug|verbose|bias|deterministic)$"
)
TEXT = re.compile(r"(^|_)(mode|type|method|kind|reduction|name|act|activation)$")


def objects(known: Evidence) -> list[Any]:
    """Stand-ins for an argument whose attributes or keys are read; none where a recipe cannot write one."""
    if known.keys and not known.members:
        return [{each: _value(each) for each in dict.fromkeys(known.keys)}]
    read = dict.fromkeys(known.members)
    if not known.foreign:
        return []
    if set(read) <= OF_A_MODULE and set(read) & ONLY_A_MODULE:
        return [MENU[MODULE]]
    if known.methods & set(read):
        return []
    return [SimpleNamespace(**{each: _value(each) for each in read})]


def _value(name: str) -> Any:
    """A plausible value for an attribute of this name."""
    if FLAG.search(name.lower()):
        return False
    if TEXT.search(name.lower()):
        return "mean"
    return next(iter(name_hints.suggested(name)), 0.5)


# Normal values exceed upper bounds below this.
_LARGE = 2.0


def filling(known: Evidence, shape: tuple[int, ...]) -> Fill | None:
    """The fill of a floating tensor that is not the first argument; None without evidence."""
    name = known.name.lower()
    if name_hints.vanishing(name, known.used):
        return "tiny"
    if known.few and shape == (2,):
        return "rising"
    if len(shape) < 2 and name_hints.LOWER.search(name) and not name_hints.POSITIVE.search(name):
        return "negative"
    bounds = len(shape) < 2 and name_hints.UPPER.search(name)
    return "positive" if bounds or known.step or name_hints.POSITIVE.search(name) else None


def asked(known: Evidence) -> Fill | None:
    """The fill that keeps the bounds that the source demands of the values; None where it demands none."""
    low, high = -math.inf if known.low is None else known.low, math.inf if known.high is None else known.high
    if (low <= LOW and HIGH <= high < _LARGE) or (0 <= low <= LOW and high >= HIGH):
        return "positive"
    return "negative" if low <= -HIGH and -LOW <= high <= 0 else None
