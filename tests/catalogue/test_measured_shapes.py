from dataclasses import replace

import pytest
from support.sections import op_of

from gradloupe.ops import Input
from gradloupe.server.catalogue.op_description import measured_shapes


def named(name, function, **words):
    return replace(op_of(function, Input("x", shape=(2, 3)), **words), name=name)


def test_shapes_are_measured_and_a_single_number_has_none():
    assert measured_shapes(named("good", lambda x: x @ x.T)) == [(2, 2)]
    assert measured_shapes(named("two", lambda x: (x.sum(), x), outputs=("total", "all"))) == [(), (2, 3)]


@pytest.mark.parametrize("ends", [lambda x: exit(3), lambda x: 1 / 0])
def test_an_op_that_fails_is_taken_to_return_single_numbers(ends):
    assert measured_shapes(named("bad", ends, outputs=("one", "other"))) == [(), ()]
