import mpmath
import torch


def on_tensors(function):
    return lambda t: function(torch.from_numpy(t)).numpy()


SMOOTH = {
    "exp": (torch.exp, mpmath.exp, -5, 5),
    "tanh": (torch.tanh, lambda x: mpmath.sech(x) ** 2, -5, 5),
    "sin 50x": (lambda x: torch.sin(50 * x), lambda x: 50 * mpmath.cos(50 * x), -3, 3),
    "x^9": (lambda x: x**9, lambda x: 9 * x**8, -3, 3),
    "log1p": (torch.log1p, lambda x: 1 / (1 + x), -1e-3, 1e-3),
    "1e6 x^2": (lambda x: 1e6 * x**2, lambda x: 2 * mpmath.mpf("1e6") * x, -10, 10),
    "erf": (torch.erf, lambda x: 2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-x * x), -4, 4),
    "softplus": (lambda x: torch.logaddexp(x, 0 * x), lambda x: 1 / (1 + mpmath.exp(-x)), -30, 30),
    "1/(1+x^2)": (lambda x: 1 / (1 + x**2), lambda x: -2 * x / (1 + x * x) ** 2, -5, 5),
}
