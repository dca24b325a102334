"""Tensors in 16 bits are looked at in float64, where the Function takes them so and computes the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

from ...runtime.arguments import tensors_of
from ..recipe.recipe import FLOATS, Recipe, TensorArgument
from ..search.trial import RepeatableCall

_SHORT = ("float16", "bfloat16")
_ROUNDINGS = 32.0  # ulps: forward in float64 is the same if it is off by so many roundings of the short dtype


def in_double(
    function: Callable[..., Any], recipe: Recipe, given: Mapping[str, torch.Tensor]
) -> tuple[Recipe, Mapping[str, torch.Tensor], dict[str, torch.dtype]]:
    """The recipe and the tensors in float64, and the dtypes that its inputs had; as they are if none was short.

    Nor are they changed where the Function refuses float64, or gives something else.
    """
    short = [each.dtype for each in recipe.inputs if each.dtype in _SHORT]
    if not short:
        return recipe, given, {}
    wide = replace(recipe, arguments=tuple(_widened(each) for each in recipe.arguments))
    doubles = {name: one.double() if one.is_floating_point() else one for name, one in given.items()}
    try:
        _, before = RepeatableCall.at(function, recipe, given).forward()
        _, after = RepeatableCall.at(function, wide, doubles or None).forward()
    except Exception:  # noqa: BLE001 what fails is told of the call that was asked for
        return recipe, given, {}
    eps = max(torch.finfo(getattr(torch, each)).eps for each in short)
    pairs = list(zip(tensors_of(before), tensors_of(after), strict=False))
    if not pairs or not all(_alike(*each, _ROUNDINGS * eps) for each in pairs):
        return recipe, given, {}
    return wide, doubles, {each.name: getattr(torch, each.dtype) for each in recipe.inputs}


def _widened(argument: Any) -> Any:
    floating = isinstance(argument, TensorArgument) and argument.dtype in FLOATS
    return replace(argument, dtype="float64") if floating else argument


def _alike(short: torch.Tensor, double: torch.Tensor, share: float) -> bool:
    if short.shape != double.shape or not double.numel():
        return short.shape == double.shape
    off, size = (short.detach().double() - double.detach().double()).abs(), double.detach().double().abs()
    return bool(off.nan_to_num(0.0).max() <= share * float(size[size.isfinite()].max() if size.isfinite().any() else 0))
