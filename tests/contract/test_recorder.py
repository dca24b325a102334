import functools
from collections import OrderedDict

import pytest
import torch
from functions.basics import Double, Square, altered
from torch.autograd.function import once_differentiable

from gradloupe.server.contract import instrument, replace_references


def test_the_subclass_is_known_by_the_same_name_and_keeps_once_differentiable():
    once = altered(Square, "Once", backward=once_differentiable(lambda ctx, g: g))
    watched, record = instrument(once)
    assert (watched.__name__, watched.__mro__[1]) == ("Once", once)
    x = torch.ones(3, requires_grad=True)
    (grad,) = torch.autograd.grad(watched.apply(x * 1).sum(), x, create_graph=True)
    assert not grad.requires_grad
    assert [each.name for each in record.forwards[0].saved if each] == ["x"]
    assert record.backwards[0].needs == (True,)


squared = Square.apply


class Layer(torch.nn.Module):
    def forward(self, x):
        return Square.apply(x) + 1

    def twice(self, x):
        return 2 * Square.apply(x)


def through_another(x):
    return through_a_name(x) * 2


def through_a_name(x):
    return squared(x)


def in_a_closure():
    function = Square

    def call(x):
        return (lambda each: function.apply(each))(x)

    return call


CALLS = {
    "apply": Square.apply,
    "a lambda": lambda x: Square.apply(x),
    "a function": through_a_name,
    "a function of a function": through_another,
    "a closure": in_a_closure(),
    "a partial": functools.partial(through_a_name),
    "a module": Layer(),
    "a method": Layer().twice,
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_function_is_reached_through_whatever_calls_it(call):
    watched, record = instrument(Square)
    x = torch.ones(2, requires_grad=True)
    assert torch.equal(replace_references(call, Square, watched)(x), call(x))
    assert len(record.forwards) == 1


def test_a_built_in_method_of_a_class_is_reached_too_and_what_calls_no_such_function_is_left_as_it_is():
    swapped = replace_references(dict.fromkeys, dict, OrderedDict)  # as the apply of a Function from torch 2.15 on
    assert type(swapped("ab")) is OrderedDict
    assert replace_references(torch.sin, Square, Double) is torch.sin
