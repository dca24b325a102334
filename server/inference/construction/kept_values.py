"""Which tensors of a call stay of a kind while their elements are moved."""

from __future__ import annotations

from ..recipe.recipe import TensorArgument
from ..search.trial import RepeatableCall

# The kinds that values stay, by what fills them: whatever forward takes, and where it refuses others.
_ALWAYS = {"symmetric": "symmetric", "marginal": "marginal"}
_REFUSED = {"spd": "symmetric", "simplex": "marginal", "orthogonal": "orthogonal", "unit": "unit"}
# sample: by how much the second element of a tensor is moved.
_STEP = 1e-2


def with_kept_values(called: RepeatableCall) -> RepeatableCall:
    """The call in which tensors stay what they are said to be, or what forward asks them to be."""
    for each in called.recipe.inputs:
        kept = _ALWAYS.get(each.fill, "") or _REFUSED.get(each.fill, "")
        if kept and (each.fill in _ALWAYS or _refuses(called, each, kept)):
            called = called.keeping(each.name, kept)
    return called


def _refuses(called: RepeatableCall, each: TensorArgument, kept: str) -> bool:
    """Whether forward fails where one element is moved alone, and not where the others follow."""
    if len(each.shape) < 1 or each.shape[-1] < 2:
        return False
    index = (*(0 for _ in each.shape[1:]), 1)
    moved = called.with_element(each.name, index, float(called.tensor(each.name)[index]) + _STEP)
    return moved.outputs() is None and moved.keeping(each.name, kept).outputs() is not None
