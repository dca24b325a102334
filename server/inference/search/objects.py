"""Objects that a recipe can write down: a dict of what is asked for by key, a namespace of what is read, a module."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import torch

from ..recipe.menu import MENU, MODULE
from ..source import name_hints
from ..source.evidence import Evidence

# What tells a module from any other object.
OF_A_MODULE = set(dir(torch.nn.Module)) | {"training"}
ONLY_A_MODULE = OF_A_MODULE - set(dir(torch.Tensor))
FLAG = re.compile(
    r"^(is|use|has|with|do|enable|return|apply|keep|no|need)_|^(training|inplace|causal|debug|verbose|bias|deterministic)$"
)
TEXT = re.compile(r"(^|_)(mode|type|method|kind|reduction|name|act|activation)$")


def objects(known: Evidence) -> list[Any]:
    """The objects that an argument may be, of which something is read; none where a recipe can write no such one."""
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
    """What an attribute of such a name may be."""
    if FLAG.search(name.lower()):
        return False
    if TEXT.search(name.lower()):
        return "mean"
    return next(iter(name_hints.suggested(name)), 0.5)
