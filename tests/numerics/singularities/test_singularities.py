import numpy as np
import pytest
import torch

from gradloupe.server.numerics.curve.evaluate import Grid
from gradloupe.server.numerics.singularities.special_points import special_points

F = torch.nn.functional


def found_in(function, start=-3.0, stop=3.0, count=401, **words):
    def forward(t):
        return function(torch.from_numpy(t)).numpy()

    x = Grid(start, stop, count).points()
    return special_points(forward, x, forward(x), **words)


def staircase(steps):
    return lambda x: torch.floor((x + 3.0001) / 6 * steps)


KINKS = [
    (torch.relu, [0.0]),
    (lambda x: x.clamp(-0.731, 1.37), [-0.731, 1.37]),
    (lambda x: (x - 0.1234567).abs(), [0.1234567]),
    (lambda x: F.hardsigmoid(2 * x), [-1.5, 1.5]),
    (lambda x: torch.where(x > 0, 1.05 * x, 1.76 * torch.expm1(x)), [0.0]),
    (F.softshrink, [-0.5, 0.5]),
    (lambda x: torch.minimum(x * x, torch.ones_like(x)), [-1.0, 1.0]),
    (lambda x: (x - 0.2).abs() + (x - 0.206).abs(), [0.2, 0.206]),
    (lambda x: x.clamp(-4, 2.9999), [2.9999]),
    (lambda x: torch.sin(x) + 1e-4 * (x - 0.1234).abs(), [0.1234]),
    (lambda x: torch.exp(x) + 1e-3 * (x - 0.1234).abs(), [0.1234]),
    (lambda x: 1e6 + (x - 0.1).abs(), [0.1]),
    (lambda x: 1e-8 * torch.relu(x - 0.1), [0.1]),
    (lambda x: torch.where(x < 0, 1e8 * x, x), [0.0]),
    (lambda x: torch.where(x < 0.29, np.nan, (x - 0.3).abs()), [0.3]),
]


CUSPS = [
    (lambda x: (x - 0.1234567).abs().sqrt(), [0.1234567]),
    (lambda x: 1000 + (x - 0.1234567).abs().sqrt(), [0.1234567]),
    (lambda x: (x - 0.3075).sign() * (x - 0.3075).abs() ** (1 / 3), [0.3075]),
    (lambda x: (x - 0.1111).abs() ** 0.9, [0.1111]),
    (lambda x: (x - 0.1111).abs() ** 0.1, [0.1111]),
    (lambda x: (x - 0.1) * (x - 0.1).abs().log(), [0.1]),
    (torch.sqrt, [0.0]),
    (lambda x: (x - 0.1234).sqrt(), [0.1234]),
    (torch.special.entr, [0.0]),
    (lambda x: torch.acos(x / 2.222), [-2.222, 2.222]),
    (lambda x: (x.abs() - 0.001).sqrt(), [-0.001, 0.001]),
]


JUMPS = [
    (lambda x: (x >= 0.377).double(), [0.377]),
    (torch.floor, [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0]),
    (lambda x: torch.floor(x + 0.123456), [-2.123456, -1.123456, -0.123456, 0.876544, 1.876544, 2.876544]),
    (F.hardshrink, [-0.5, 0.5]),
    (lambda x: torch.sign(x - 0.3075), [0.3075]),
    (lambda x: x / x.abs(), [0.0]),
    (lambda x: torch.where(x == 0, 1.0, torch.sin(x)), [0.0]),
    (lambda x: torch.atan(1 / x), [0.0]),
    (lambda x: torch.sin(x) + 1e-5 * (x > 0.3075), [0.3075]),
    (lambda x: x + (x - 0.3).abs() + (x > 0.3), [0.3]),
    (lambda x: F.threshold(x, 0.1, 20.0), [0.1]),
    (lambda x: (x > -3).double(), [-3.0]),
    (lambda x: (x >= 3).double(), [3.0]),
]


POLES = [
    (torch.reciprocal, [0.0]),
    (lambda x: 1 / (x - 1.0001) ** 2, [1.0001]),
    (lambda x: 1e-6 / (x - 0.3075) + x, [0.3075]),
    (lambda x: (x - 0.2).abs().rsqrt(), [0.2]),
    (lambda x: (x - 0.3075).abs().log(), [0.3075]),
    (torch.log, [0.0]),
    (lambda x: torch.relu(x).log(), [0.0]),
    (lambda x: torch.tan(x * np.pi / 2 / 2.999), [-2.999, 2.999]),
    (torch.lgamma, [-3.0, -2.0, -1.0, 0.0]),
]


SPECIAL = {"kink": (KINKS, 1e-9), "cusp": (CUSPS, 1e-12), "jump": (JUMPS, 0.0), "pole": (POLES, 1e-12)}


@pytest.mark.parametrize(
    ("kind", "function", "places"), [(kind, *row) for kind, (rows, _) in SPECIAL.items() for row in rows]
)
def test_every_special_point_is_found_where_it_is_and_told_from_the_other_kinds(kind, function, places):
    found = found_in(function)
    assert [each.kind for each in found] == [kind] * len(places)
    assert [each.x for each in found] == pytest.approx(places, rel=1e-6 * (kind != "jump"), abs=SPECIAL[kind][1])
    if kind in ("kink", "jump"):
        assert all(each.left <= place <= each.right for each, place in zip(found, places, strict=True))
    if kind == "jump":
        assert all(each.right - each.left < 1e-11 for each in found)
    if kind == "cusp":  # where it has a value
        assert all(function(torch.tensor(each.x, dtype=torch.float64)).isfinite() for each in found)


@pytest.mark.parametrize(("count", "stop"), [(400, 3.0), (401, 3.0), (400, 3.1), (401, 3.1)])
def test_a_pole_is_found_on_and_between_the_points(count, stop):
    assert [each.kind for each in found_in(torch.reciprocal, stop=stop, count=count)] == ["pole"]


def test_special_points_of_several_kinds_are_told_apart_in_one_picture():
    found = found_in(lambda x: (x > 0.3) * (1 + x) + x.abs() + (x + 1.3).abs().sqrt() + 0.01 / (x - 2))
    assert [(each.kind, each.x) for each in found] == [("cusp", -1.3), ("kink", 0.0), ("jump", 0.3), ("pole", 2.0)]


@pytest.mark.parametrize("steps", [20, 60, 100, 150, 255])
def test_every_step_of_a_fine_staircase_is_found(steps):
    found = found_in(staircase(steps))
    truth = np.arange(1, steps + 1) * 6 / steps - 3.0001
    assert [each.kind for each in found] == ["jump"] * steps
    assert [each.x for each in found] == pytest.approx(truth.tolist(), abs=1e-12)


def test_a_staircase_too_fine_to_be_seen_is_left_alone():
    assert found_in(staircase(2000)) == ()


def test_where_a_value_is_dear_hundreds_are_enough():
    counted = []

    def relu(x):
        counted.append(x.numel())
        return torch.relu(x - 0.1234567)

    found = found_in(relu, cheap=False)
    assert [(each.kind, each.x) for each in found] == [("kink", 0.1234567)]
    assert sum(counted) - 401 < 400


KNOWN = special_points(lambda t: np.abs(t), np.linspace(-3, 3, 400), np.abs(np.linspace(-3, 3, 400)))


def test_known_special_points_are_not_searched_again_and_unknown_ones_are_found():
    found = found_in(lambda x: x.abs() + (x - 1).abs(), known=KNOWN)
    assert [each.x for each in found] == [1.0]


@pytest.mark.parametrize(
    ("function", "kind", "place"),
    [
        (lambda x: F.leaky_relu(x.float() - 0.1234, 0.1).double(), "kink", 0.1234),
        (lambda x: (x.float() + (x > 0.3075)).double(), "jump", 0.3075),
        (lambda x: (x.float() - 1.3).abs().sqrt().double(), "cusp", 1.3),
    ],
)
def test_what_computes_in_float32_inside_is_located_as_well_as_it_can_be(function, kind, place):
    (found,) = found_in(function, precision=2.0**-24)
    assert found.kind == kind
    assert found.x == pytest.approx(place, abs=2e-6)


SMOOTH = (torch.tanh, torch.exp, torch.sigmoid, F.gelu, F.silu, F.mish, F.elu, F.celu, F.softsign)
STEEP = (
    *(lambda x, k=k: torch.sin(k * x) for k in (50, 100, 500)),
    *(lambda x, k=k: torch.tanh(k * (x - 0.0123)) for k in (100, 1e5, 1e9)),
    *(lambda x, k=k, at=at: torch.exp(-k * (x - at) ** 2) for k, at in ((100, 0), (1e4, 0.1))),
    *(lambda x, p=p, at=at: (x - at).abs() ** p for p, at in ((1.5, 0), (1.5, 0.1), (1.1, 0.1111))),
    *(lambda x: x**3, lambda x: 2 * x, lambda x: 0 * x, lambda x: torch.sigmoid(200 * x), lambda x: x * x.abs()),
    *(lambda x: F.softplus(x, beta=1e6, threshold=1e9), lambda x: torch.exp(-1 / x**2), lambda x: torch.exp(400 * x)),
    *(lambda x: torch.relu(x) ** 2, lambda x: x**1.5, lambda x: torch.sin(x) / x, lambda x: x.float().sin().double()),
    lambda x: F.smooth_l1_loss(x, 0 * x, reduction="none", beta=0.001),
)


@pytest.mark.parametrize("function", SMOOTH + STEEP)
def test_what_is_only_steep_or_only_bends_is_no_special_point(function):
    assert found_in(function) == ()


@pytest.mark.parametrize("function", [lambda x: torch.sin(1 / x), lambda x: x * torch.sin(1 / x)])
def test_an_oscillation_without_end_is_no_flood_of_special_points(function):
    assert len(found_in(function)) <= 1


@pytest.mark.parametrize("seed", range(4))
def test_noise_is_no_flood_of_special_points(seed):
    def noisy(x):
        return x + 1e-3 * torch.randn(x.shape, generator=generator, dtype=torch.float64)

    generator = torch.Generator().manual_seed(seed)
    assert len(found_in(noisy)) <= 2


@pytest.mark.parametrize("count", [2, 3, 5, 9])
def test_a_coarse_grid_finds_what_it_can_without_failing(count):
    assert len(found_in(torch.relu, count=count)) <= 1


def test_a_forward_that_is_nowhere_finite_has_no_special_points():
    assert found_in(lambda x: x * np.nan) == ()


@pytest.mark.parametrize("seed", range(6))
def test_kinks_are_located_within_their_bounds_wherever_they_are(seed):
    place = float(np.random.default_rng(seed).uniform(-2.9, 2.9))
    for function in (lambda x: x.clamp(-9, place), lambda x: 1000 + (x - place).abs(), lambda x: (x - place).abs()):
        (found,) = found_in(function, count=(400, 401, 1000)[seed % 3])
        assert found.kind == "kink"
        assert found.left <= place <= found.right
        assert found.right - found.left < 1e-9


def test_a_search_for_jumps_alone_finds_jumps_alone():
    found = found_in(lambda x: (x - 1).abs() + (x > 0.3075), jumps_only=True)
    assert [(each.kind, each.x) for each in found] == [("jump", 0.3075)]
