"""What torch's functions take: kinds of parameters, from torch's own schemas, and ranks of tensors."""

from __future__ import annotations

from difflib import get_close_matches
from functools import lru_cache

import torch

BUILTIN_ATTRIBUTES = set(dir(float)) | set(dir(list)) | set(dir(dict)) | set(dir(str)) | set(dir(tuple))
TENSOR_ATTRIBUTES = set(dir(torch.Tensor)) - BUILTIN_ATTRIBUTES
STRING_METHODS = set(dir(str)) - set(dir(tuple)) - set(dir(torch.Tensor))
DICT_METHODS = set(dir(dict)) - set(dir(torch.Tensor)) - {"copy", "clear", "pop"}
# Methods and attributes that keep the shape, so that the result may stand for the tensor.
SHAPE_PRESERVING = {
    *("contiguous", "detach", "clone", "float", "double", "half", "to", "cpu", "cuda", "data", "requires_grad_"),
    *("type", "type_as", "bfloat16", "long", "int", "numpy", "resolve_conj"),
}
# Functions that convert their argument to a tensor.
TENSOR_CASTS = {"as_tensor", "tensor", "asarray"}
# Functions that return an uninitialised tensor.
UNINITIALISED = {"empty_like", "empty", "new_empty"}
# Kinds of parameters by what torch's schemas call them, and by their types there.
_KIND_OF_NAME = {
    **dict.fromkeys(("index", "indices"), "index"),
    **dict.fromkeys(("dim", "dim0", "dim1", "axis0", "axis1"), "dim"),
    **{"mask": "mask", "dtype": "dtype", "dims": "sequence", "pad": "sequence", "normalized_shape": "sequence"},
}
_KIND_OF_TYPE = {"Tensor": "tensor", "int": "whole", "List[int]": "whole", "float": "number", "number": "number"}
# What a schema does not say: a tensor of indices, and a parameter that may be a tensor too but rarely is.
_KIND_BY_HAND: dict[tuple[str, int], str] = {
    **dict.fromkeys(
        (("embedding", 0), ("one_hot", 0), ("bincount", 0), ("nll_loss", 1), ("cross_entropy", 1)), "index"
    ),
    **dict.fromkeys((("sparse_coo_tensor", 0), ("take_along_dim", 1)), "index"),
    **{("embedding", 1): "tensor", ("sparse_coo_tensor", 2): "sequence", ("einsum", 1): "tensor"},
    **dict.fromkeys(((name, place) for name in ("clamp", "clip") for place in (1, 2)), "number"),
    **dict.fromkeys((("masked_fill", 2), ("fill", 1), ("clamp_min", 1), ("clamp_max", 1)), "number"),
}


def kind_of_parameter(function: str, place: int) -> str:
    """The kind of a parameter of a function of torch, the tensor of a method being at place 0; "" if it is not known.

    Functions that end in an underscore have the parameters of those that do not.
    """
    plain = function.removesuffix("_")
    kinds = _schema_kinds(plain)
    last = kinds[-1] if kinds and kinds[-1] == "whole" else ""
    return _KIND_BY_HAND.get((plain, place), kinds[place] if place < len(kinds) else last)


@lru_cache(maxsize=512)
def _schema_kinds(function: str) -> tuple[str, ...]:
    """The kinds by place, empty where overloads of a function differ."""
    found = list[set[str]]()
    for schema in torch._C._jit_get_schemas_for_operator(f"aten::{function}"):
        plain = [each for each in schema.arguments if not each.kwarg_only]
        if len(plain) == len(schema.arguments) or not any(each.is_out for each in schema.arguments):
            for place, each in enumerate(plain):
                found += [set[str]()] * (place == len(found))
                found[place] = found[place] | {_kind(each)}
    return tuple(map(_common_kind, found))


def _common_kind(kinds: set[str]) -> str:
    """The kind of a parameter in all overloads; an int where it may be a dtype or a tensor too."""
    kinds = kinds - ({"", "dtype", "tensor"} if "whole" in kinds else {""})
    return kinds.pop() if len(kinds) == 1 else ""


def _kind(parameter: torch.Argument) -> str:
    written = str(parameter.type)
    kind = written.removeprefix("Optional[").removesuffix("]" * written.startswith("Optional["))
    named = _KIND_OF_NAME.get(parameter.name, "")
    return named if named and (named != "index" or kind == "Tensor") else _KIND_OF_TYPE.get(kind, "")


# Number of dimensions of the tensors of a function, by position.
RANKS_BY_POSITION: dict[str, dict[int, int]] = {
    **{f"conv{n}d": {0: n + 2, 1: n + 2, 2: 1} for n in (1, 2, 3)},
    **{f"conv_transpose{n}d": {0: n + 2, 1: n + 2, 2: 1} for n in (1, 2, 3)},
    **{f"{kind}_pool{n}d": {0: n + 2} for n in (1, 2, 3) for kind in ("max", "avg", "adaptive_avg", "adaptive_max")},
    **{"mm": {0: 2, 1: 2}, "bmm": {0: 3, 1: 3}, "addmm": {1: 2, 2: 2}, "mv": {0: 2, 1: 1}, "dot": {0: 1, 1: 1}},
    **{"t": {0: 2}, "outer": {0: 1, 1: 1}, "ger": {0: 1, 1: 1}, "grid_sample": {0: 4, 1: 4}, "pixel_shuffle": {0: 4}},
    **{"embedding": {1: 2}, "baddbmm": {0: 3, 1: 3, 2: 3}, "linear": {1: 2, 2: 1}},
    **{f"index_{each}": {2: 1} for each in ("add", "copy", "fill", "reduce", "select")},
    **{"sparse_coo_tensor": {0: 2, 1: 1}, "unfold": {}, "batch_norm": {1: 1, 2: 1, 3: 1, 4: 1}},
}
# The same of those that take batches of such tensors, too.
LEAST_RANKS = {"cdist": {0: 2, 1: 2}}
TAKES_SQUARE = {
    *("inverse", "inv", "cholesky", "eigh", "eigvalsh", "eig", "slogdet", "logdet", "det", "matrix_exp", "trace"),
    *("matrix_power", "expm", "symeig", "cholesky_ex", "sqrtm"),
}
# Functions whose second argument, or dim=, is a dimension.
TAKES_DIM = {"sum", "mean", "softmax", "cumsum", "sort", "flip", "max", "min", "unbind", "size"}
KINDS_BY_KEYWORD = {
    **dict.fromkeys(("dim", "axis", "dims"), "dim"),
    **dict.fromkeys(("min", "max", "eps", "value", "alpha", "beta", "p", "negative_slope", "threshold"), "number"),
    **dict.fromkeys(("keepdim", "keepdims", "training", "inplace", "align_corners", "largest", "descending"), "flag"),
    **dict.fromkeys(("stride", "padding", "dilation", "groups", "kernel_size", "num_classes", "k", "chunks"), "whole"),
    **{"dtype": "dtype", "device": "device", "index": "index", "mask": "mask", "scale_factor": "number"},
    **dict.fromkeys(("reduction", "mode", "padding_mode", "rounding_mode"), "text"),
}
KEYWORD_CHOICES = {
    **{"reduction": ("mean", "sum", "none"), "mode": ("bilinear", "nearest", "constant", "reflect")},
    **{"padding_mode": ("zeros", "border", "reflection"), "rounding_mode": ("floor", "trunc")},
}


@lru_cache(maxsize=512)
def is_misspelled(name: str) -> bool:
    """Whether a name is close to that of an attribute of tensors."""
    return bool(get_close_matches(name, [each for each in dir(torch.Tensor) if each[0] == name[0]], 1, 0.75))
