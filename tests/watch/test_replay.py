"""A step is run again with another backward, from the same seed and state, and nothing of it remains."""

import pytest
import torch
from support.watched_functions import STORED, Clip, model
from torch.autograd.function import _SingleLevelFunction

import gradloupe


class Through(Clip):
    """The same forward; everything passes back."""

    @staticmethod
    def backward(ctx, g):
        return g, None, None


@pytest.fixture(scope="module")
def swapped():
    """What came of a block with a random input, an optimizer and two steps; the model, and what it was before."""
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    with gradloupe.watch(net) as seen:
        optimizer.zero_grad()
        loss = net(3 * torch.randn(6, 5)).square().sum()
        loss.backward()
        optimizer.step()
    held = [each.detach().clone() for each in (*net.parameters(), *(one.grad for one in net.parameters()))]
    momentum = [each["momentum_buffer"].clone() for each in optimizer.state.values()]
    noise = torch.get_rng_state()
    found = seen.replay(Clip=Through, steps=3)
    assert torch.equal(noise, torch.get_rng_state())
    assert all(map(torch.equal, momentum, [each["momentum_buffer"] for each in optimizer.state.values()]))
    assert all(map(torch.equal, held, [*net.parameters(), *(one.grad for one in net.parameters())]))
    return net, seen, found


def test_both_begin_at_the_same_loss_and_the_gradients_lead_away_from_each_other(swapped):
    _, _, found = swapped
    assert len(found.losses) == len(found.swapped_losses) == 3
    assert found.losses[0] == found.swapped_losses[0]
    assert found.losses[1] != found.swapped_losses[1]
    assert {*found.cosines} == {"0.weight", "0.bias", "3.weight", "3.bias"}
    assert min(found.cosines.values()) < 0.99
    lines = repr(found).splitlines()
    assert lines[0].startswith("loss 1: as it is")
    assert "Through" in lines[0]
    assert min(found.cosines, key=found.cosines.get) in lines[5]


def test_a_function_in_its_own_place_changes_nothing(swapped):
    _, seen, _ = swapped
    found = seen.replay(Clip=Clip)
    assert found.losses == found.swapped_losses
    assert all(each == pytest.approx(1.0) for each in found.cosines.values())


def test_the_gradient_is_that_of_the_other_backward():
    x = torch.tensor([-2.0, 0.5, 3.0], requires_grad=True)
    with gradloupe.watch() as seen:
        STORED(x, -1.0, 1.0).mul(torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    found = seen.replay(Clip=Through)
    (pair,) = found.gradients
    assert (pair.name, pair.norm, pair.swapped_norm) == ("x", 2.0, pytest.approx(14**0.5))
    assert pair.cosine == pytest.approx(2 / 14**0.5)
    assert "apply" not in vars(_SingleLevelFunction)


def test_a_step_may_be_given_as_a_function():
    net = model()
    with gradloupe.watch(net) as seen:
        net(torch.ones(6, 5)).sum().backward()
    found = seen.replay(lambda: net(9 * torch.ones(6, 5)).sum().backward(), Clip=Through)
    assert found.losses == found.swapped_losses != ()


@pytest.mark.parametrize(("version", "slope"), [("2.4.1", 1.0), ("2.13.0+cpu", 1.0), ("2.14", 0.0), ("2.15.0", 0.0)])
def test_the_slope_of_clamp_at_its_bounds_is_that_of_a_version_of_torch(version, slope):
    x = torch.tensor([-2.0, -1.0, 0.0, 1.0, 2.0], requires_grad=True)
    steps = (
        lambda: x.clamp(-1, 1).sum().backward(),
        lambda: torch.clip(x, min=-1.0, max=1.0).sum().backward(),
        lambda: x.clamp_min(-1).clamp_max(1).sum().backward(),
    )
    for step in steps:
        (pair,) = gradloupe.watch().replay(step, torch=version).gradients
        assert pair.swapped_norm == pytest.approx((1 + 2 * slope) ** 0.5)


def test_what_cannot_be_replayed_is_refused_in_a_sentence(swapped):
    _, seen, _ = swapped
    cases = {
        "Nothing is swapped": {},
        "is no version of torch": {"torch": "three"},
        "Through was not called in the block; name one of Clip": {"Through": Clip},
    }
    for sentence, given in cases.items():
        with pytest.raises(ValueError, match=sentence):
            seen.replay(**given)
    with pytest.raises(TypeError, match=r"is no torch\.autograd\.Function"):
        seen.replay(Clip=torch.nn.ReLU)
    there = {}
    exec("import gradloupe\nwith gradloupe.watch() as seen:\n    pass", there)  # noqa: S102 - a prompt keeps no lines
    with pytest.raises(ValueError, match="give the step as a function"):
        there["seen"].replay(torch="2.14")


def test_a_swapped_step_may_call_backward_less_often():
    x = torch.tensor([-2.0, 0.5, 3.0], requires_grad=True)

    def step():
        for _ in range(2):
            y = Clip.apply(x, -1.0, 1.0)
            y.sum().backward()
            if x.grad.abs().max() > 0.5 and x.grad[0] != 0:
                break

    with gradloupe.watch() as seen:
        step()
    found = seen.replay(step, Clip=Through)
    assert (len(found.losses), len(found.swapped_losses)) == (2, 1)
    assert repr(found).startswith("loss 1: as it is")
