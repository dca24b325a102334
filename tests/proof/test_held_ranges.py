"""What is proved for each number of a range in which another is held: gallery, falsehoods, and random programs."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from random import Random
from typing import Any

import mpmath as mp
import pytest
import torch
from flint import arb
from support.sampling import in_turn
from support.sections import op_of, section

from gradloupe.ops import OPS, Input, Op, Parameter
from gradloupe.server.proof import Held, Proof, prove
from gradloupe.server.proof.call import enclose, lanes_of, precision
from gradloupe.server.proof.certificate import BadCertificate, certify, fault_of, read, section_of, written
from gradloupe.server.proof.comparison import compared

Formula = Callable[[Any, Any], Any]
AROUND_ONE = Held("alpha", (), 0.9, 1.1)


class Given(torch.autograd.Function):
    """A Function of x and a number, from a forward and a derivative."""

    @staticmethod
    def forward(ctx, x, alpha, value, derivative):
        ctx.save_for_backward(x)
        ctx.alpha, ctx.derivative = alpha, derivative
        return value(x, alpha)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * ctx.derivative(x, ctx.alpha), None, None, None


class GivenTensor(torch.autograd.Function):
    """The same of a number that is a tensor."""

    @staticmethod
    def forward(ctx, x, alpha, value, derivative):
        ctx.save_for_backward(x, alpha)
        ctx.derivative = derivative
        return value(x, alpha)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.derivative(*ctx.saved_tensors), None, None, None


def of_a_number(value: Formula, derivative: Formula) -> Op:
    alpha = Parameter("alpha", 1.0, -5.0, 5.0)
    return op_of(lambda x, alpha: Given.apply(x, alpha, value, derivative), parameters=(alpha,))


def of_a_tensor(value: Formula, derivative: Formula) -> Op:
    inputs = (Input("x"), Input("alpha", value=(1.0,)))
    return op_of(lambda x, alpha: GivenTensor.apply(x, alpha, value, derivative), *inputs)


def proved(op: Op, held: Held = AROUND_ONE, boxes: int = 60, grad_output: float = 1.0) -> Proof:
    found = prove(section(op), None, -3.0, 3.0, grad_output, boxes, held)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "held"),
    [
        ("swish", Held("beta", (), 0.9, 1.1)),
        ("elu", Held("alpha", (), 0.9, 1.1)),
        ("snake", Held("a", (), 1.8, 2.2)),
        ("heaviside_sigmoid", Held("alpha", (), 3.6, 4.4)),
        pytest.param("smooth_magnitude", Held("y", (), 0.9, 1.1), marks=pytest.mark.nightly),
        ("matrix_product", Held("B", (0, 1), -1.0, 1.0)),
    ],
)
def test_an_op_is_proved_for_all_that_another_number_is_held_at_and_its_certificate_holds(
    name: str, held: Held
) -> None:
    op, cut = OPS[name], section(name)
    surrogate = op.surrogate_for(cut.wrt, 1.0)
    found = prove(cut, surrogate, *op.inputs[0].domain, held=held)
    assert found is not None
    assert (found.word, found.grad_output, found.held) == ("proved", "every", held)
    assert found.epsilon <= 1e-12
    certificate = read(written(certify(found, cut, 1.0)))
    assert certificate.proof == found
    assert fault_of(certificate, section_of(certificate, op), surrogate) == ""


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"held": {"name": "beta", "index": [], "low": 0.9, "high": 1.2}}, "its boxes are not what it says is proved"),
        ({"held": {"name": "beta", "index": [], "low": 1.0, "high": 1.1}}, "its boxes are not what it says is proved"),
        ({"held": None}, "its boxes are not what it says is proved"),
    ],
)
def test_a_certificate_that_claims_another_range_does_not_hold(change: dict[str, Any], sentence: str) -> None:
    op, cut = OPS["swish"], section("swish")
    found = prove(cut, None, -1.0, 1.0, held=Held("beta", (), 0.9, 1.1))
    assert found is not None
    plain = json.loads(written(certify(found, cut, 1.0)))
    plain["proof"] |= change
    certificate = read(json.dumps(plain).encode())
    assert fault_of(certificate, section_of(certificate, op), None) == sentence


@pytest.mark.parametrize(("name", "index"), [("x", ()), ("gamma", ()), ("beta", (0,))])
def test_a_certificate_that_holds_what_is_not_there_is_refused(name: str, index: tuple[int, ...]) -> None:
    cut = section("swish")
    found = prove(cut, None, -1.0, 1.0, held=Held("beta", (), 0.9, 1.1))
    assert found is not None
    other = replace(found, held=Held(name, index, 0.9, 1.1))
    with pytest.raises(BadCertificate, match="other inputs"):
        section_of(certify(other, cut, 1.0), OPS["swish"])


def test_where_a_kink_moves_with_it_nothing_is_said_of_what_it_passes() -> None:
    cut = section("clipped_relu")
    found = prove(cut, None, -1.0, 3.0, held=Held("clip", (), 1.8, 2.2))
    assert found is not None
    assert found.word == "in part"
    (undecided,) = found.undecided
    assert 1.79 < undecided[0] <= 1.8
    assert 2.2 <= undecided[1] < 2.21
    assert len(found.points) == 1


FALSE: dict[str, tuple[Formula, Formula]] = {
    "by its product with the number": (lambda x, a: a * x * x, lambda x, a: 2 * a * x * (1 + 3e-9 * (a - 0.9) / 0.2)),
    "by more and more": (lambda x, a: torch.exp(a * x), lambda x, a: a * torch.exp(a * x) * (1 + 1e-3 * (a - 1) ** 8)),
    "where another is held at most": (lambda x, a: a * x * x, lambda x, a: 2 * a * x * (1 + 3e-9 * (1.05 * x < a * x))),
    "in a billionth of the range": (
        lambda x, a: torch.sin(a * x),
        lambda x, a: a * torch.cos(a * x) * (1 + 1e-3 * torch.exp(-(((a * x - 1.0123456789 * x) * 1e9) ** 2))),
    ),
    "but at the default": (lambda x, a: a * x * x, lambda x, a: 2 * x),
    "but at the ends": (lambda x, a: a * x * x, lambda x, a: 2 * x * (a + 1e-6 * (a - 0.9) * (1.1 - a))),
    "under a condition": (lambda x, a: a * x * x, lambda x, a: 2 * a * x if a < 1.0999 else 3 * a * x),
    "under its opposite": (lambda x, a: a * x * x, lambda x, a: 2 * a * x if not a >= 1.0999 else 3 * a * x),
    "under a condition of a product": (lambda x, a: a * x * x, lambda x, a: 2 * a * x * (1 if a * a - a < 0.1 else 2)),
    "by the larger of two": (lambda x, a: a * x * x, lambda x, a: 2 * x * max(a, 1.0)),
    "where it is wider than a float": (lambda x, a: a * x * x, lambda x, a: 2 * a * x * (1 + (a == 1.05))),
    "by a whole number": (lambda x, a: a * x * x, lambda x, a: 2 * a * x * (1 + int(a > 1.08))),
    "by rounding": (lambda x, a: a * x * x, lambda x, a: 2 * round(a, 1) * x),
    "by text": (lambda x, a: a * x * x, lambda x, a: 2 * float(f"{a:.2f}") * x),
    "by Python's mathematics": (lambda x, a: a * x * x, lambda x, a: 2 * math.floor(a) * x),
}


@pytest.mark.parametrize(
    ("how", "kind", "grad_output"), in_turn(FALSE, *product((of_a_number, of_a_tensor), (1.0, -2.0)))
)
def test_what_is_false_for_some_of_the_numbers_is_never_proved(
    how: str, kind: Callable[[Formula, Formula], Op], grad_output: float
) -> None:
    assert proved(kind(*FALSE[how]), grad_output=grad_output).word != "proved"


def test_it_takes_itself_for_a_float() -> None:
    derivative = lambda x, a: 2 * a * x if isinstance(a, float) else a  # noqa: E731
    assert proved(of_a_number(lambda x, a: a * x * x, derivative)).word == "proved"


def test_a_number_that_torch_would_round_to_float32_is_refused() -> None:
    op = of_a_number(lambda x, a: x * ((x > 0) * a), lambda x, a: (x > 0) * a)
    assert proved(op).word == "nothing"


# ---------------------------------------------------------------- random programs, by mpmath in forty digits


def sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


ONE: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = [
    (torch.sin, mp.sin),
    (torch.cos, mp.cos),
    (torch.tanh, mp.tanh),
    (torch.sigmoid, sigmoid),
    (torch.atan, mp.atan),
    (torch.erf, mp.erf),
    (lambda x: torch.exp(-x * x), lambda x: mp.exp(-x * x)),
    (lambda x: torch.log1p(x * x), lambda x: mp.log(1 + x * x)),
    (lambda x: (1 + x * x).sqrt(), lambda x: mp.sqrt(1 + x * x)),
    (lambda x: 1 / (2 + x * x), lambda x: 1 / (2 + x * x)),
    (torch.abs, abs),
    (torch.relu, lambda x: max(x, mp.mpf(0))),
]
TWO: list[tuple[Formula, Formula]] = [
    (lambda x, y: x + y, lambda x, y: x + y),
    (lambda x, y: x - 0.5 * y, lambda x, y: x - y / 2),
    (lambda x, y: x * y, lambda x, y: x * y),
    (lambda x, y: x / (1 + y * y), lambda x, y: x / (1 + y * y)),
    (torch.maximum, max),
]


def random_formula(seed: int) -> tuple[Formula, Formula]:
    """A random formula of x and a, of torch and of mpmath."""
    random = Random(seed)
    steps = [(random.random() < 0.5, random.random(), random.random(), random.random()) for _ in range(4)]

    def formula(which: int) -> Formula:
        def run(x: Any, a: Any) -> Any:
            kept = [x, a * x]
            for single, op, first, second in steps:
                y, z = kept[int(first * len(kept))], kept[int(second * len(kept))]
                one, two = ONE[int(op * len(ONE))][which], TWO[int(op * len(TWO))][which]
                kept.append(one(y) if single else two(y, z))
            return kept[-1] + kept[-2] * a

        return run

    return formula(0), formula(1)


def check(seed: int) -> int:
    """Whether anything is known of a random forward beside a random backward in a random box; it is what holds."""
    random = Random(seed)
    (forward, exact), (derivative, exact_derivative) = random_formula(2 * seed), random_formula(2 * seed + 1)
    start, low = random.uniform(-2, 2), random.uniform(-2, 2)
    box = (start, start + 10 ** random.uniform(-9, -0.3), low, low + 10 ** random.uniform(-9, -0.3))
    held, kind = Held("alpha", (), *box[2:]), random.choice((of_a_number, of_a_tensor))
    with precision(128):
        lanes = lanes_of([box])
        known = compared(enclose(section(kind(forward, derivative)), None, lanes, 1, held), lanes, 0)
    if known is None or not known.is_finite:
        return 0
    with mp.workdps(40):
        for part in (0.0, 1.0, random.random()):
            x = mp.mpf(box[0]) + (mp.mpf(box[1]) - box[0]) * part
            a = mp.mpf(box[2]) + (mp.mpf(box[3]) - box[2]) * random.choice((0.0, 1.0, random.random()))
            slope, backward = mp.diff(lambda t, a=a: exact(t, a), x), exact_derivative(x, a)
            for ball, number in (
                (known.slope, slope),
                (known.backward, backward),
                (known.difference, backward - slope),
            ):
                assert not outside(ball, number), (seed, box, part)
    return 1


def outside(ball: arb, exact: Any) -> bool:
    low, high = (mp.mpf(str(end.str(60, radius=False))) for end in (ball.lower(), ball.upper()))
    slack = mp.mpf(10) ** -18 * (1 + abs(exact))  # what a derivative of mpmath may be off by
    return not low - slack <= exact <= high + slack


SAMPLE, ALL = 80, 2000


def test_what_is_said_of_random_programs_holds_at_random_places() -> None:
    assert sum(map(check, range(SAMPLE))) > 0.6 * SAMPLE


@pytest.mark.nightly
def test_what_is_said_of_thousands_of_random_programs_holds_at_random_places() -> None:
    assert sum(map(check, range(SAMPLE, ALL))) > 0.6 * (ALL - SAMPLE)
