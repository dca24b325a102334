"""Right formulas, each beside its derivative."""

import torch
import torch.nn.functional as F

RIGHT = {
    name: function
    for module, names in (
        (torch, "sin cos tan exp exp2 expm1 sinh cosh tanh asinh atan erf erfc sigmoid abs relu square sqrt rsqrt log"),
        (torch, "log1p log2 log10 reciprocal acos asin atanh selu celu floor ceil round trunc frac sign i0 lgamma"),
        (F, "gelu silu mish elu softsign tanhshrink hardtanh hardswish relu6 leaky_relu logsigmoid"),
        (F, "softshrink hardshrink"),
    )
    for name in names.split()
    for function in [getattr(module, name)]
} | {
    "x cubed": lambda x: x**3,
    "x to the 9th": lambda x: x**9,
    "a parabola far up": lambda x: x * x + 1e6,
    "a steep parabola": lambda x: 1e6 * x * x,
    "a fast sine": lambda x: torch.sin(50 * x),
    "a narrow bell": lambda x: torch.exp(-100 * x * x),
    "gelu by tanh": lambda x: F.gelu(x, approximate="tanh"),
    "a rounded corner": lambda x: torch.sqrt(x * x + 1),
    "clamp off the grid": lambda x: x.clamp(-0.77, 1.234),
    "a maximum": lambda x: torch.maximum(x, x * x),
    "x |x|": lambda x: x * x.abs(),
    "a steep sigmoid": lambda x: torch.sigmoid(200 * x),
    "a constant": lambda x: 0 * x + 5,
}
