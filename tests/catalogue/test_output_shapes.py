import os
from dataclasses import replace
from threading import Event

import pytest
from support.sections import op_of

from gradloupe.ops import Input
from gradloupe.server.catalogue import output_shapes as shapes
from gradloupe.server.catalogue.output_shapes import output_shapes


def named(name, function, **words):
    return replace(op_of(function, Input("x", shape=(2, 3)), **words), name=name)


GOOD = named("good", lambda x: x @ x.T)
TWO = named("two", lambda x: (x.sum(), x), outputs=("total", "all"))


def test_shapes_are_measured_and_a_single_number_has_none():
    assert output_shapes([GOOD, TWO]) == {"good": [(2, 2)], "two": [(), (2, 3)]}


@pytest.mark.parametrize("ends", [lambda x: os._exit(3), lambda x: os.abort(), lambda x: exit(3), lambda x: 1 / 0])
def test_an_op_that_ends_its_process_is_alone_in_that(ends):
    assert output_shapes([GOOD, named("bad", ends), TWO]) == {"good": [(2, 2)], "bad": [()], "two": [(), (2, 3)]}


def test_an_op_that_does_not_return_is_given_up(monkeypatch):
    monkeypatch.setattr(shapes, "_TIME_LIMIT", 0.5)
    hangs = named("hangs", lambda x: Event().wait())
    assert output_shapes([hangs, GOOD]) == {"hangs": [()], "good": [(2, 2)]}
