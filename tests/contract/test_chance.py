"""The check GRADIENT where it must not accuse: forwards that draw random numbers, and matrices that are symmetric."""

from typing import Any

import torch

import gradloupe

F = torch.autograd.Function


class Gamma(F):
    """Rejection sampling: the slope of one draw is not that of the mean."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = torch._standard_gamma(x.exp())
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        return g * torch._standard_gamma_grad(x.exp(), y) * x.exp()


class Rounded(F):
    """Stochastic rounding, right on average."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return torch.floor(x + torch.rand_like(x))

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


class Noisy(F):
    """Wrong in every draw."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return 2 * x + torch.randn_like(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


class Distance(F):
    """By a covariance, which is symmetric."""

    @staticmethod
    def forward(ctx: Any, x: Any, cov: Any) -> Any:
        solved = torch.linalg.solve(cov, x)
        ctx.save_for_backward(solved)
        return (x * solved).sum()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (solved,) = ctx.saved_tensors
        return 2 * g * solved, -g * torch.outer(solved, solved)


def accused(function: Any) -> bool:
    return any((each.id, each.level) == ("GRADIENT", "error") for each in gradloupe.check(function).findings)


def test_chance_is_no_wrong_gradient() -> None:
    assert not accused(Gamma)
    assert not accused(Rounded)


def test_what_is_wrong_in_every_draw_is_told() -> None:
    assert accused(Noisy)


def test_a_matrix_that_its_name_calls_symmetric_stays_so() -> None:
    assert not accused(Distance)
