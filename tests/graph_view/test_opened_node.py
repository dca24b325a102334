"""The node, opened: what went in and out on both sides, what is kept, and the drawing of the graph."""

import gc
import json
import sys
import weakref
from types import SimpleNamespace

import pytest
import torch
from functions.contract_broken import HidesAHook
from support.answers import document
from support.sampling import sampled
from support.sections import Plain, op_of

from gradloupe.ops import OPS, Input, Op, Parameter

MAX_NODES, MAX_CHARS, LIST_LIMIT = 40, 80, 24


def opened(op, at=0.5, **asked):
    """The document of one call, its members as attributes."""
    header, columns = document(op, "node", start=-2.0, stop=2.0, count=21, at=at, **asked)
    assert columns == {}
    return json.loads(json.dumps(header), object_hook=lambda members: SimpleNamespace(**members))


def seen(op, at=0.5, grad_output=1.0, **asked):
    """The picture, the Functions and the sentence of one call."""
    found = opened(op, at, grad_output=grad_output, **asked)
    assert found.failure is None
    return found, found.functions, found.sentence


def edges(picture):
    """Every edge by what its ends are called, and what came back along it."""
    names = [each.lines[0] for each in picture.vertices]
    return {(names[each.source], names[each.target]): each.label or each.back for each in picture.edges}


class Scaled(torch.autograd.Function):
    """Everything that can be kept, in the new style."""

    @staticmethod
    def forward(x, w, factor):
        return x * w * factor, (x > 0).long()

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, w, ctx.factor = inputs
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(x, w * 2, None, x[:1])
        ctx.kept, ctx.pair = output[0], [x, w]

    @staticmethod
    def backward(ctx, grad_output, _):
        x, doubled, _, _ = ctx.saved_tensors
        return grad_output * doubled / 2 * ctx.factor, (grad_output * x * ctx.factor).expand(2, 1), None


class Cube(torch.autograd.Function):
    """The old style, with a numerical argument in the middle."""

    @staticmethod
    def forward(ctx, x, power, *, more=None):
        ctx.save_for_backward(x)
        return x**power

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * grad_output * x**2, None


class Around(torch.autograd.Function):
    """A forward that is a classmethod, and rounds."""

    @classmethod
    def forward(cls, ctx, x):
        return x.round()

    @classmethod
    def backward(cls, ctx, grad_output):
        return grad_output


INPUTS, FACTOR = (Input("x"), Input("w", value=2.0)), (Parameter("factor", 3.0),)
SCALED = Op(Scaled, "Scaled", "tests", "", "", INPUTS, FACTOR, outputs=("y", "positive"))


def holding(make):
    """An op around a Function that keeps on ctx what ``make`` returns, as ``value``."""

    class Holding(Around):
        @classmethod
        def forward(cls, ctx, x):
            ctx.value = make()
            return x.round()

    return op_of(Holding.apply)


def test_what_goes_into_forward_and_what_comes_out_of_backward():
    _, (one,), _ = seen("clamp_with_grad", 2.0, -1.0)
    values = [(each.name, each.thing.text, each.returned.text, each.delivered) for each in one.arguments[1:]]
    assert values == [("min", "−1", "None", None), ("max", "1", "None", None)]
    (x, *_), (y,) = one.arguments, one.outputs
    assert (x.tracked, x.thing.text, x.returned.text, x.delivered.text) == (True, "2", "0", "0")
    assert (y.name, y.thing.text, y.arrived.text, y.arrived.strides) == ("y", "1", "−1", [1])


def test_what_is_returned_stands_beside_what_is_delivered():
    _, (one,), _ = seen("functional_linear")
    weight = one.arguments[1]
    assert (weight.returned.shape, weight.delivered.shape) == ([2, 2, 3], [2, 3])
    assert weight.delivered.text == "2, 1, 0.5, 0, 0, 0"
    assert one.once


def test_an_attribute_of_ctx_that_hides_one_of_the_node_is_no_hindrance():
    _, (function,), _ = seen(Op(HidesAHook, "a test", "tests", "", "", (Input("x"),)))
    assert function.name == "HidesAHook"


def test_none_for_an_input_is_told_from_a_gradient_of_zero():
    picture, (one,), said = seen("replace_grad")
    assert edges(picture)["x_forward", "ReplaceGrad"] == "none"
    assert [each.returned.kind for each in one.arguments] == ["None", "tensor"]
    assert one.arguments[0].delivered is None
    assert "x_forward and 1 for x_backward" in said


def test_all_that_is_kept_is_named_and_weighed():
    _, (one,), said = seen(SCALED)
    kept = [(each.name, each.shares, each.used, each.thing and each.thing.size) for each in one.saved]
    assert kept == [("x", "x", True, 8), ("", "", True, 8), ("None", "", None, None), ("", "x", False, 8)]
    held = {each.name: (each.thing.kind, each.role) for each in one.attributes}
    assert held == {"factor": ("float", ""), "kept": ("tensor", "y"), "pair": ("list with 2 tensors", "x, w")}
    assert (one.new_style, one.once, one.materialize) == (True, False, False)
    assert "a view of x" in said
    assert "(24 bytes), 8 of them" in said


def test_an_output_of_whole_numbers_is_silent():
    picture, (one,), _ = seen(SCALED)
    assert [(each.name, each.silent, each.arrived.kind) for each in one.outputs] == [
        ("y", False, "tensor"),
        ("positive", True, "None"),
    ]
    assert edges(picture)["Scaled", "positive"] == "nothing"


def test_without_a_graph_it_is_said_why():
    picture, (one,), said = seen(SCALED, of="positive")
    assert "it is int64" in said
    assert not one.ran
    assert {each.back for each in picture.edges} == {"nothing"}
    assert ("factor = 3", "Scaled") in edges(picture)
    marked = op_of(lambda x: Scaled.apply(x, x, 1.0)[1].double() * 0 + 1)
    assert "nothing that autograd follows" in seen(marked)[2]


def test_two_functions_in_a_row_and_an_input_used_twice():
    op = op_of(lambda x: Cube.apply(Around.apply(x) * x.sin(), 3) + x)
    picture, functions, _ = seen(op, 1.2)
    assert [each.name for each in functions] == ["Around", "Cube"]
    assert {
        ("x", "Around"),
        ("x", "sin"),
        ("x", "add"),
        ("mul", "Cube"),
        ("power = 3", "Cube"),
        ("Cube", "add"),
    } <= set(edges(picture))
    assert {each.node for each in picture.vertices} >= {"AccumulateGrad", "CubeBackward", "MulBackward0"}
    layers = {each.lines[0]: each.layer for each in picture.vertices}
    assert layers["x"] < layers["Around"] < layers["mul"] < layers["Cube"] < layers["add"] < layers["y"]
    assert next(each for each in functions if each.name == "Cube").outputs[0].name == "output"


def test_the_same_tensor_twice_is_two_edges():
    picture, _, _ = seen(op_of(lambda x: x * x))
    assert [(each.source, each.target) for each in picture.edges].count((0, 1)) == 2


def test_an_edit_in_place_is_told():
    picture, (one,), _ = seen(OPS["input_changed_in_place"])
    assert edges(picture)["x", "InputChangedInPlace"] == "2"
    assert not one.arguments[0].dirty

    class Doubled(Around):
        @classmethod
        def forward(cls, ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

    picture, (one,), _ = seen(op_of(Doubled.apply))
    assert one.arguments[0].dirty
    assert edges(picture) == {("x", "Doubled"): "1", ("Doubled", "y"): "1"}


def test_a_backward_that_raises_leaves_the_picture():
    found = opened("one_gradient_too_few")
    assert (found.failure.phase, found.failure.kind) == ("backward", "RuntimeError")
    (one,) = found.functions
    assert (one.count, len(one.arguments)) == (1, 2)
    assert "incorrect number of gradients" in found.sentence
    assert found.vertices


@pytest.mark.parametrize("returned", ["a list", 3.0])
def test_an_output_that_is_no_tensor_fails_in_a_sentence(returned):
    found = opened(op_of(lambda x: [x] if returned == "a list" else returned), wrt="x", of="y")
    assert "where a tensor 'y' was declared" in found.failure.message


def test_a_function_of_torch_alone_has_no_node_to_open():
    picture, functions, said = seen(op_of(torch.relu))
    assert functions == []
    assert "by itself" in said
    assert edges(picture) == {("x", "relu"): "1", ("relu", "y"): "1"}


def test_of_many_functions_the_last_are_opened():
    def chain(x):
        for power in range(1, 10):
            x = Cube.apply(x, power)
        return x

    _, functions, said = seen(op_of(chain))
    assert [each.arguments[1].thing.text for each in functions] == ["4", "5", "6", "7", "8", "9"]
    assert "Of 9 Functions the last 6" in said


def test_nothing_that_was_looked_at_is_kept_alive():
    held = []

    def loud():
        value = Loud()
        held.append(weakref.ref(value))
        return value

    seen(holding(loud))
    gc.collect()
    assert held
    assert not any(each() for each in held)


class Loud:
    def __repr__(self):
        return "z" * 10**6


class Broken:
    def __repr__(self):
        raise KeyError("no")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Loud(), "z" * (MAX_CHARS - 1) + "…"),
        (Broken(), "its repr raises KeyError"),
        (True, "True"),
        (-0.5, "−0.5"),
        ("a\nb", "'a\\nb'"),
        ([0] * 10**7, "[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ...]"),
        ({"a": [1, 2]}, "{'a': [1, 2]}"),
        (torch.arange(9.0), "0, 1, 2, 3, 4, 5, …"),
        (torch.tensor([True, False]), "True, False"),
        (torch.empty(0), ""),
        (torch.empty(2, device="meta"), "no values: "),
        (torch.eye(2).to_sparse(), "no values: "),
    ],
)
def test_every_value_is_told_in_few_words(value, text):
    _, (one,), _ = seen(holding(lambda: value))
    (told,) = [each.thing.text for each in one.attributes if each.name == "value"]
    assert told.startswith(text) if text.endswith(": ") else told == text
    assert len(told) <= MAX_CHARS


@pytest.mark.parametrize("name", sampled(OPS))
def test_every_op_of_the_gallery_can_be_opened(name):
    op, found = OPS[name], opened(name)
    assert found.sentence.endswith(".")
    assert found.functions[0].arguments
    named = {line for each in found.vertices if each.kind == "function" for line in each.lines}
    assert op.function.__name__ in named
    assert op.function is not Plain


def test_layers_go_forward_and_nothing_stands_on_another_thing():
    def tangled(x):
        early = x.sin()
        late = Cube.apply(Cube.apply(early, 2).exp(), 3)
        return late * x + early + x.cos()

    drawn = seen(op_of(tangled))[0]
    layers = [each.layer for each in drawn.vertices]
    assert max(layers) > 5
    for each in drawn.edges:
        assert len(each.path) == layers[each.target] - layers[each.source] - 1
        assert [layer for layer, _ in each.path] == [*range(layers[each.source] + 1, layers[each.target])]
    places = [(each.layer, each.row) for each in drawn.vertices]
    everywhere = [*places, *(tuple(point) for each in drawn.edges for point in each.path)]
    assert len(set(everywhere)) == len(everywhere)


def test_lines_that_need_not_cross_do_not():
    drawn = seen(op_of(lambda u, v: v.sin() + u.exp(), Input("u"), Input("v")))[0]
    rows = {each.lines[0]: each.row for each in drawn.vertices}
    assert (rows["u"] < rows["v"]) == (rows["exp"] < rows["sin"])


def test_a_backward_that_python_does_not_hear_of_is_told_by_what_came_on():
    class Deafening(Around):
        @classmethod
        def backward(cls, ctx, grad_output):
            sys.setprofile(None)
            return grad_output

    _, functions, said = seen(op_of(lambda x: Deafening.apply(Cube.apply(x, 3))), 2.0)
    cube = next(each for each in functions if each.name == "Cube")
    assert (cube.arguments[0].returned, cube.arguments[0].delivered.text) == (None, "12")
    assert cube.outputs[0].arrived.text == "1"
    assert "None" not in said
    assert sys.getprofile() is None


class Many(torch.autograd.Function):
    """As many arguments as one likes, all of them saved."""

    @staticmethod
    def forward(ctx, *given):
        ctx.save_for_backward(*given)
        return sum(given)

    @staticmethod
    def backward(ctx, grad_output):
        return (grad_output,) * len(ctx.saved_tensors)


@pytest.mark.parametrize("leaves", [False, True])
def test_of_thousands_of_arguments_a_few_are_listed_and_the_rest_counted(leaves):
    def forward(x):
        parts = [torch.ones(1, requires_grad=True) for _ in range(4095)] if leaves else [x * i for i in range(4095)]
        return Many.apply(x, *parts)

    found = document(op_of(forward), "node", at=0.5)[0]
    (one,) = found["functions"]
    assert [len(one[part]) for part in ("arguments", "outputs", "saved")] == [LIST_LIMIT, 1, LIST_LIMIT]
    assert one["more"] == {"arguments": 4096 - LIST_LIMIT, "outputs": 0, "saved": 4096 - LIST_LIMIT}
    assert len(found["vertices"]) < 2 * MAX_NODES
    assert any("4095 leaves" in each["lines"] or "more" in each["lines"][0] for each in found["vertices"])
    assert len(json.dumps(found)) < 100_000


def test_the_call_is_made_where_the_input_is_held_unless_a_place_is_given():
    op = op_of(torch.exp, Input("x", value=0.75))
    assert [opened(op, at).at for at in (None, 0.5)] == [0.75, 0.5]
