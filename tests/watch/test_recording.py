"""Watching a step changes nothing of it, and sees every call of a custom Function."""

import threading

import pytest
import torch
from support.watched_functions import STORED, Clip, model
from torch.autograd.function import BackwardCFunction, _SingleLevelFunction
from torch.utils.checkpoint import checkpoint

import gradloupe
from gradloupe.server.capture.samples import sample_of, slot_of


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, g):
        return 2 * g


def site(seen, function="Clip"):
    (found,) = seen.capture.sites(function)
    return found


def plain(net, x):
    return net(x)


def with_hooks(net, x):
    for each in net.modules():
        each.register_forward_hook(lambda *_: None)
        each.register_full_backward_hook(lambda *_: None)
    return net(x.requires_grad_())


def with_autocast(net, x):
    with torch.autocast("cpu", torch.bfloat16):
        return net(x).float()


def checkpointed(net, x):
    return checkpoint(net, x, use_reentrant=False)


def reentrant(net, x):
    return checkpoint(net, x.requires_grad_(), use_reentrant=True)


def wrapped(net, x):
    outer = torch.nn.Module()
    outer.module = net
    return outer.module(x)


def in_place(net, x):
    return Doubled.apply(net(x) + 0.0)


# What torch 2.4 says of its own checkpoints.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.cpu.amp.autocast:FutureWarning")
WAYS = (plain, with_hooks, with_autocast, checkpointed, reentrant, wrapped, in_place)


def step(way):
    net = model()
    loss = way(net, torch.linspace(-4, 4, 30).reshape(6, 5)).square().sum()
    loss.backward()
    return [loss, *(each.grad for each in net.parameters()), torch.get_rng_state()]


@pytest.mark.parametrize("way", WAYS)
def test_a_watched_step_is_the_same_to_the_bit(way):
    before = step(way)
    with gradloupe.watch() as seen:
        inside = step(way)
    assert all(map(torch.equal, before, inside))
    assert all(map(torch.equal, before, step(way)))
    assert sum(each["backwards"] for each in seen.capture.sites("Clip")) == 2
    assert not any("could not be recorded" in note for note in seen.capture.record["notes"])


def test_hooks_go_with_the_last_block_also_after_an_error():
    with pytest.raises(ZeroDivisionError), gradloupe.watch(), gradloupe.watch():
        raise ZeroDivisionError("apply" in vars(_SingleLevelFunction))
    assert "apply" not in vars(_SingleLevelFunction)
    assert BackwardCFunction.apply.__module__ == "torch.autograd.function"


def test_an_apply_that_was_stored_and_a_class_made_inside_are_seen():
    x = torch.tensor([0.5, 2.0], requires_grad=True)
    with gradloupe.watch() as seen:

        class Inner(Clip):
            pass

        (STORED(x, -1.0, 1.0) + Inner.apply(x, 0.0, 1.0)).sum().backward()
    assert [each["function"].rpartition(".")[2] for each in seen.capture.record["sites"]] == ["Clip", "Inner"]
    assert [each["backwards"] for each in seen.capture.record["sites"]] == [1, 1]


def test_each_module_of_the_model_has_a_row_and_other_calls_have_none():
    net, x = model(), torch.randn(6, 5)
    with gradloupe.watch(net) as seen:
        (net(x).sum() + STORED(x, -1.0, 1.0).sum()).backward()
    assert [(each["path"], each["calls"], each["backwards"]) for each in seen.capture.sites("Clip")] == [
        ("1", 1, 1),
        ("4", 1, 1),
    ]


def test_steps_and_blocks_add_up_and_a_checkpoint_counts_what_it_runs_again():
    net, x = model(), torch.randn(6, 5)
    seen = gradloupe.watch(net)
    for _ in range(40):
        with seen:
            checkpoint(net[0:2], x, use_reentrant=False).sum().backward()
    found = site(seen)
    assert (found["calls"], found["recomputed"], found["backwards"]) == (80, 40, 40)
    assert slot_of(found, "input")["numel"] == 80 * 48
    assert 48 <= slot_of(found, "input")["values"]["length"] <= 16 * 48


def test_what_is_recorded_are_the_numbers_that_passed():
    x = torch.tensor([-3.0, -0.5, 1.0, 1.0, 2.0, float("nan")], requires_grad=True)
    with gradloupe.watch() as seen:
        STORED(x, -1.0, 1.0).mul(torch.tensor([1.0, -2, 3, 4, 5, 6])).sum().backward()
    found, capture = site(seen), seen.capture
    assert sample_of(capture, [found], "input").tolist()[:5] == x.tolist()[:5]
    assert sample_of(capture, [found], "grad_output").tolist() == [1.0, -2.0, 3.0, 4.0, 5.0, 6.0]
    assert sample_of(capture, [found], "grad_input").tolist()[:5] == [0.0, -2.0, 3.0, 4.0, 0.0]
    assert [(each["name"], each["text"]) for each in found["arguments"]] == [
        ("x", ""),
        ("low", "-1.0"),
        ("high", "1.0"),
    ]


def test_of_large_tensors_the_same_places_and_the_first_rows_are_kept():
    x = torch.randn(400, 100, requires_grad=True)
    with gradloupe.watch() as seen:
        STORED(x, -1.0, 1.0).backward(x.detach().clone())
    capture, found = seen.capture, site(seen)
    assert (sample_of(capture, [found], "input") == sample_of(capture, [found], "grad_output")).all()
    held = found["arguments"][0]["tensor"]
    assert (held["shape"], held["rows"], held["values"]["length"]) == ([400, 100], 40, 4000)


def test_memory_is_bounded_and_said():
    with gradloupe.watch(memory=0.001) as seen:
        STORED(torch.randn(1000, requires_grad=True), -1.0, 1.0).sum().backward()
    assert site(seen)["arguments"][0]["tensor"] is None
    assert seen.capture.record["notes"][-1:] == ["The tensors of first calls take 0 of 0.001 MiB."]


def test_extremes_of_all_numbers_are_taken_where_they_are_asked_for():
    x = torch.zeros(100_000)
    x[77_777] = 9.0
    with gradloupe.watch(exact=True) as seen:
        STORED(x.requires_grad_(), -1.0, 1.0).sum().backward()
    assert (slot_of(site(seen), "input")["low"], slot_of(site(seen), "input")["high"]) == (0.0, 9.0)


def test_threads_are_recorded_each():
    def work():
        for _ in range(25):
            STORED(torch.randn(10, requires_grad=True), -1.0, 1.0).sum().backward()

    with gradloupe.watch() as seen:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert (site(seen)["calls"], site(seen)["backwards"]) == (100, 100)


def test_compiled_code_is_run_eagerly_and_that_is_said():
    compiled = torch.compile(model(), backend="eager")
    with gradloupe.watch() as seen:
        compiled(torch.randn(6, 5)).sum().backward()
    assert sum(each["backwards"] for each in seen.capture.sites("Clip")) == 2
    assert any("runs eagerly in the block" in note for note in seen.capture.record["notes"])


def test_what_is_no_module_is_refused():
    with pytest.raises(TypeError, match=r"int is no torch\.nn\.Module"):
        gradloupe.watch(3)
