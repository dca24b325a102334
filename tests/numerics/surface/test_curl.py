"""The potential test on trial: a right Function is never accused, a wrong one always."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch
from functions.two_inputs import op_of_two, plane_of, surface_of
from support.sampling import sampled
from support.sections import op_of, section
from torch.nn import functional

from gradloupe.ops import OPS, Input
from gradloupe.server.numerics.surface.circulation import potential_function
from gradloupe.server.numerics.surface.curl import CurlTest, field_components, run_curl_test, run_curl_tests
from gradloupe.server.numerics.surface.text import curl_test_sentence

X = np.linspace(-3.0, 3.0, 61)


def trial(op, wrt="u", wrt2="v", of="") -> CurlTest:
    plane = plane_of(op, wrt, wrt2, of)
    return run_curl_test(partial(field_components, plane, 1.0), X, X, plane.expensive)


def one(u):
    return torch.ones_like(u)


GRADIENTS = {
    "a product": op_of_two(torch.mul),
    "|uv|": op_of_two(lambda u, v: (u * v).abs()),
    "hypot": op_of_two(torch.hypot),
    "a cusp": op_of_two(lambda u, v: (u * u + v * v) ** 0.25),
    "a pole": op_of_two(lambda u, v: 1 / (u * u + v * v)),
    "an angle, which winds": op_of_two(lambda u, v: torch.atan2(v - 0.3, u - 0.2) + u * v),
    "max": op_of_two(torch.maximum),
    "max by masks that are 0 where both are equal": op_of_two(
        torch.maximum, lambda u, v: ((u > v) * one(u), (v > u) * one(u))
    ),
    "relu(u)v": op_of_two(lambda u, v: torch.relu(u) * v),
    "kinks aslant": op_of_two(lambda u, v: functional.relu6(3 * u + v) * functional.hardtanh(v)),
    "a gate": op_of_two(lambda u, v: u * (v > 0.1), lambda u, v: ((v > 0.1) * one(u), 0 * v)),
    "a gate aslant": op_of_two(lambda u, v: u * (u + v > 0.1), lambda u, v: ((u + v > 0.1) * one(u), 0 * v)),
    "a thousand steps": op_of_two(lambda u, v: u * (v * 1000).round(), lambda u, v: ((v * 1000).round(), 0 * v)),
    "logaddexp": op_of_two(torch.logaddexp),
    "a fast wave": op_of_two(lambda u, v: torch.sin(10 * u * v)),
    "a steep step": op_of_two(lambda u, v: torch.sigmoid(50 * (u - v * v))),
    "a quotient": op_of_two(torch.div),
    "a logarithm": op_of_two(lambda u, v: torch.log(u) * v),
    "a power": op_of_two(torch.pow),
    "large numbers": op_of_two(lambda u, v: 1e6 * torch.exp(u) * torch.sin(v)),
    "a constant": op_of_two(lambda u, v: 0 * u + 0 * v + 1),
    "float32 inside": op_of_two(lambda u, v: (u.float() * v.float().exp()).double()),
    "a straight-through sum": op_of_two(lambda u, v: (u + v).round(), lambda u, v: (one(u), one(v))),
    "twice the gradient": op_of_two(torch.mul, lambda u, v: (2 * v, 2 * u)),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_the_gradient_of_a_function_is_never_accused(name: str):
    assert trial(GRADIENTS[name]).holds is True


OTHERS = {
    "a cross term off by 1e-3": op_of_two(torch.mul, lambda u, v: (v, 1.001 * u)),
    "a cross term off by 1e-6": op_of_two(torch.mul, lambda u, v: (v, (1 + 1e-6) * u)),
    "a gradient dropped": op_of_two(torch.mul, lambda u, v: (v, None)),
    "swapped": op_of_two(lambda u, v: u * u * v, lambda u, v: (u * u, 2 * u * v)),
    "a sign forgotten": op_of_two(lambda u, v: (u * v).abs(), lambda u, v: ((u * v).sign() * v, u)),
    "hypot off by 1e-3": op_of_two(torch.hypot, lambda u, v: (u / torch.hypot(u, v), 1.001 * v / torch.hypot(u, v))),
    "off for u > 1 only": op_of_two(torch.mul, lambda u, v: (v, u * (1 + 1e-3 * (u > 1)))),
    "off in float32": op_of_two(
        lambda u, v: (u.float() * v.float().exp()).double(),
        lambda u, v: (v.float().exp().double(), (1.001 * u.float() * v.float().exp()).double()),
    ),
    "a straight-through product": op_of_two(lambda u, v: u * v.round(), lambda u, v: (v.round(), u)),
    "a steep step off by 1e-3": op_of_two(
        lambda u, v: torch.sigmoid(50 * (u - v)),
        lambda u, v: tuple(k * torch.sigmoid(50 * (u - v)) * torch.sigmoid(50 * (v - u)) for k in (50, -50.05)),
    ),
    "a fast wave off by 1e-3": op_of_two(
        lambda u, v: torch.sin(10 * u * v),
        lambda u, v: (10 * v * torch.cos(10 * u * v), 10.01 * u * torch.cos(10 * u * v)),
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_the_gradient_of_no_function_is_accused_with_the_place_and_the_circulation(name: str):
    found = trial(OTHERS[name])
    assert found.holds is False
    assert found.turning > 0
    assert found.worst is not None
    area = (found.worst.x1 - found.worst.x0) * (found.worst.y1 - found.worst.y0)
    assert found.worst.circulation == pytest.approx(found.worst.curl * area)


def test_the_circulation_of_a_wrong_cross_term_is_its_curl_times_the_area_and_the_verdict_says_so():
    found = trial(OTHERS["a cross term off by 1e-3"])
    assert found.worst is not None
    assert found.worst.curl == pytest.approx(1e-3, rel=1e-6)
    assert (found.judged, found.turning) == (1, 1)
    sentence = curl_test_sentence(surface_of(OTHERS["a cross term off by 1e-3"]), "u", "v")
    assert sentence.startswith(
        "This field is not the gradient of any function: its integral around a rectangle of 0.123 × 0.123"
    )


@pytest.mark.parametrize(
    "name", sampled(name for name, op in OPS.items() if op.claim == "exact" and len(op.inputs) > 1)
)
def test_no_right_op_of_the_gallery_is_accused_for_any_two_of_its_elements(name: str):
    assert [each for each in run_curl_tests(section(name), 1.0) if each.potential.holds is False] == []


def test_of_three_inputs_every_two_are_tested_and_the_culprits_named():
    class Fused(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b, c):
            ctx.save_for_backward(a, b)
            return a * b + c

        @staticmethod
        def backward(ctx, grad_output):
            a, b = ctx.saved_tensors
            return grad_output * b, grad_output * a * 1.001, grad_output

    op = op_of(Fused.apply, Input("a"), Input("b"), Input("c"))
    found = {(each.first[0], each.second[0]): each.potential.holds for each in run_curl_tests(section(op), 1.0)}
    assert found == {("a", "b"): False, ("a", "c"): True, ("b", "c"): True}


def test_elements_of_one_tensor_are_pairs_too_and_many_elements_none():
    softmax = op_of(lambda x: x.softmax(-1), Input("x", shape=(3,)))
    assert [each.potential.holds for each in run_curl_tests(section(softmax), 1.0)] == [True] * 3
    assert run_curl_tests(section("functional_linear"), 1.0) == ()


def test_where_every_point_needs_a_call_of_its_own_a_wrong_cross_term_is_found_all_the_same():
    class Norm(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return (x * x).sum()

        @staticmethod
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            return grad_output * (2 * x + 1e-3 * x.roll(1) * torch.tensor([0.0, 1.0, 0.0], dtype=x.dtype))

    op = op_of(Norm.apply, Input("x", shape=(3,)))
    plane = plane_of(op, "x[0]", "x[1]")
    assert plane.expensive
    assert run_curl_test(partial(field_components, plane, 1.0), X, X, True).holds is False
    assert trial(op_of(lambda x: (x * x).sum(), Input("x", shape=(3,))), "x[0]", "x[1]").holds is True


def test_the_implied_function_is_the_one_whose_gradient_was_returned():
    plane = plane_of(GRADIENTS["a straight-through sum"])
    s, t = np.meshgrid(X, X)
    found = potential_function(partial(field_components, plane, 2.0), X, X, 2.0, (s + t).ravel())
    assert found == pytest.approx((s + t).ravel(), abs=1e-12)


def test_nothing_is_said_of_a_field_that_is_nowhere_a_number():
    assert trial(op_of_two(torch.mul, lambda u, v: (v * torch.nan, u))).holds is None
