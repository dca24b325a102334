"""Tables of torch's functions: kinds and ranks of their arguments by position; the tensor of a method is position 0."""

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
_EVERY = tuple(range(1, 8))

_TENSORS = {
    **dict.fromkeys(("matmul", "mm", "bmm", "dot", "mv", "outer", "ger", "cross", "maximum", "minimum"), (0, 1)),
    **dict.fromkeys(("atan2", "logaddexp", "dist", "cdist", "mse_loss", "l1_loss", "grid_sample", "allclose"), (0, 1)),
    **dict.fromkeys(("binary_cross_entropy", "kl_div", "smooth_l1_loss", "cosine_similarity", "equal"), (0, 1)),
    **dict.fromkeys(("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d"), (0, 1, 2)),
    **dict.fromkeys(("addmm", "baddbmm", "addmv", "addcmul", "addcdiv", "conv_transpose3d", "bilinear"), (0, 1, 2)),
    **dict.fromkeys(("batch_norm", "native_batch_norm"), (0, 1, 2, 3, 4)),
    **{"embedding": (1,), "layer_norm": (0, 2, 3), "einsum": _EVERY, "lerp": (0, 1), "block_diag": (0, 1, 2)},
    "sparse_coo_tensor": (1,),
}
_INDICES: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(
        ("gather", "index_select", "scatter", "scatter_", "scatter_add", "scatter_add_", "index_add"), (2,)
    ),
    **dict.fromkeys(("index_add_", "index_copy", "index_copy_", "index_fill", "scatter_reduce"), (2,)),
    **{"take": (1,), "embedding": (0,), "one_hot": (0,), "nll_loss": (1,), "cross_entropy": (1,), "bincount": (0,)},
    **{"take_along_dim": (1,), "scatter_reduce_": (2,), "sparse_coo_tensor": (0,)},
}
_MASKS: dict[str, tuple[int, ...]] = dict.fromkeys(
    ("masked_fill", "masked_fill_", "masked_select", "masked_scatter", "masked_scatter_"), (1,)
)
_DIMS = {
    **dict.fromkeys(("sum", "mean", "softmax", "log_softmax", "logsumexp", "cumsum", "argmax", "argmin", "sort"), (1,)),
    **dict.fromkeys(
        ("flip", "gather", "index_select", "scatter", "scatter_add", "unsqueeze", "squeeze", "narrow"), (1,)
    ),
    **dict.fromkeys(
        ("select", "cat", "stack", "size", "unbind", "prod", "std", "var", "cumprod", "amax", "amin"), (1,)
    ),
    **dict.fromkeys(("index_add", "index_add_", "scatter_", "scatter_add_", "argsort", "logcumsumexp"), (1,)),
    **dict.fromkeys(("topk", "chunk", "split", "norm", "roll", "kthvalue", "renorm", "repeat_interleave"), (2,)),
    **dict.fromkeys(("transpose", "movedim", "swapaxes"), (1, 2)),
}
_WHOLES = {
    **dict.fromkeys(("view", "reshape", "expand", "repeat", "tile", "new_zeros", "new_ones", "new_empty"), _EVERY),
    **dict.fromkeys(("arange", "range", "zeros", "ones", "empty", "eye", "randn", "rand", "randperm"), (0, 1, 2, 3, 4)),
    **dict.fromkeys(("topk", "chunk", "split", "roll", "kthvalue", "one_hot", "pixel_shuffle", "group_norm"), (1,)),
    **dict.fromkeys(("tril", "triu", "matrix_power", "repeat_interleave", "diagonal", "diag", "bincount"), (1,)),
    **dict.fromkeys(("conv1d", "conv2d", "conv3d", "conv_transpose2d", "conv_transpose1d"), (3, 4, 5, 6)),
    **dict.fromkeys(("max_pool2d", "avg_pool2d", "max_pool1d", "avg_pool1d", "adaptive_avg_pool2d"), (1, 2, 3)),
    **{"narrow": (2, 3), "select": (2,), "linspace": (2,), "comb": (0, 1)},
    **dict.fromkeys(("unfold", "fold"), (1, 2, 3, 4)),
}
_NUMBERS = {
    **dict.fromkeys(("clamp", "clip", "clamp_", "clip_", "threshold", "hardtanh", "threshold_"), (1, 2)),
    **dict.fromkeys(("clamp_min", "clamp_max", "clamp_min_", "clamp_max_", "fill_", "leaky_relu", "elu", "full"), (1,)),
    **dict.fromkeys(
        ("dropout", "softplus", "full_like", "nan_to_num", "celu", "hardshrink", "softshrink", "new_full"), (1,)
    ),
    **dict.fromkeys(("masked_fill", "masked_fill_", "renorm"), (2,)),
    **dict.fromkeys(("float", "sqrt", "log", "exp", "ceil", "floor", "tanh", "cos", "sin", "isinf", "isnan"), ()),
}
_SEQUENCES: dict[str, tuple[int, ...]] = {
    **{"pad": (1,), "permute": (1,), "layer_norm": (1,), "sparse_coo_tensor": (2,)}
}
KINDS_BY_POSITION: dict[str, dict[str, tuple[int, ...]]] = {
    **{"tensor": _TENSORS, "index": _INDICES, "mask": _MASKS, "dim": _DIMS, "whole": _WHOLES, "number": _NUMBERS},
    "sequence": _SEQUENCES,
}
# Number of dimensions of the tensors of a function, by position.
RANKS_BY_POSITION: dict[str, dict[int, int]] = {
    **{f"conv{n}d": {0: n + 2, 1: n + 2, 2: 1} for n in (1, 2, 3)},
    **{f"conv_transpose{n}d": {0: n + 2, 1: n + 2, 2: 1} for n in (1, 2, 3)},
    **{f"{kind}_pool{n}d": {0: n + 2} for n in (1, 2, 3) for kind in ("max", "avg", "adaptive_avg", "adaptive_max")},
    **{"mm": {0: 2, 1: 2}, "bmm": {0: 3, 1: 3}, "addmm": {1: 2, 2: 2}, "mv": {0: 2, 1: 1}, "dot": {0: 1, 1: 1}},
    **{"t": {0: 2}, "outer": {0: 1, 1: 1}, "ger": {0: 1, 1: 1}, "grid_sample": {0: 4, 1: 4}, "pixel_shuffle": {0: 4}},
    **{"embedding": {1: 2}, "baddbmm": {0: 3, 1: 3, 2: 3}, "linear": {1: 2, 2: 1}, "cdist": {0: 2, 1: 2}},
    **{"sparse_coo_tensor": {0: 2, 1: 1}, "unfold": {}, "batch_norm": {1: 1, 2: 1, 3: 1, 4: 1}},
}
TAKES_SQUARE = {
    *("inverse", "inv", "cholesky", "eigh", "eigvalsh", "eig", "slogdet", "logdet", "det", "matrix_exp", "trace"),
    *("matrix_power", "expm", "symeig", "cholesky_ex", "sqrtm"),
}
# Functions whose second argument, or dim=, is a dimension.
TAKES_DIM = {"sum", "mean", "softmax", "cumsum", "sort", "flip", "norm", "max", "min", "unbind", "size"}
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
