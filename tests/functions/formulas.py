"""Formulas as people write them by hand, right everywhere."""

import torch

F = torch.nn.functional


def softplus(x: torch.Tensor) -> torch.Tensor:
    """Softplus as it is written where nothing may overflow."""
    return torch.where(x > 15, x, torch.log1p(torch.exp(x.clamp(max=15))))


def safe_sqrt(x: torch.Tensor) -> torch.Tensor:
    """The root where there is one, with the second where that keeps the gradient from being NaN."""
    inside = x > 0
    return torch.where(inside, torch.sqrt(torch.where(inside, x, 1.0)), 0.0)


def log_cosh(x: torch.Tensor) -> torch.Tensor:
    """The logarithm of the hyperbolic cosine, which does not overflow."""
    return x + F.softplus(-2 * x) - 0.6931471805599453


def rotated(x: torch.Tensor) -> torch.Tensor:
    """The first coordinate of a vector turned by an angle."""
    return torch.cos(x) * 0.7 - torch.sin(x) * 1.3


def horner(x: torch.Tensor) -> torch.Tensor:
    """A polynomial of degree 5."""
    return ((((0.2 * x - 1) * x + 0.5) * x + 3) * x - 1) * x + 2


def rosenbrock(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The banana valley."""
    return (1 - x) ** 2 + 100 * (y - x * x) ** 2


def spline(x: torch.Tensor) -> torch.Tensor:
    """A cubic B-spline: four polynomials that join smoothly."""
    a = x.abs()
    return torch.where(a < 1, 2 / 3 - a**2 + a**3 / 2, torch.where(a < 2, (2 - a) ** 3 / 6, 0.0))


def fixed_point(x: torch.Tensor) -> torch.Tensor:
    """The root y of y + y³ = x by ten steps of Newton."""
    y = x / (1 + x.abs())
    for _ in range(10):
        y = y - (y + y**3 - x) / (1 + 3 * y**2)
    return y


def attention(x: torch.Tensor) -> torch.Tensor:
    """A vector that looks at itself."""
    return torch.softmax(torch.outer(x, x) / 2, -1) @ x
