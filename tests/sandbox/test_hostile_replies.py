"""A guest that answers what cannot be is told so, by one kind of error; neither worker nor verdict is shaken by it."""

from typing import Any

import pytest
from support import event_loop
from support.edits import edited, engine_of_text, first_answer

from gradloupe.server.protocol import Unsolved

# The wire is changed in the guest itself, which edited code may do: each reply gets these fields.
CHANGED = """
from gradloupe.server.sandbox import guest
packed = guest.packed
guest.packed = lambda header, segments: packed(header | {fields!r} if header["kind"] in KINDS else header, segments)
KINDS = ("returned", "raised")
"""
NOTHING = {"dtype": "float64", "shape": [], "strides": []}
ERROR = {"kind": "raised", "name": "X", "base": "X", "message": "", "line": None, "frames": []}
FRAME = {"function": "f", "first": 1, "position": [-1, 1, 0, 0]}
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no output": ({"value": None}, "BadReply: it does not say which outputs require grad"),
    "a class of its own": ({"value": {"object": "Spy"}}, "BadReply: it does not say which outputs require grad"),
    "too many flags": ({"tracked": [True, True]}, "BadReply: it does not say which outputs require grad"),
    "a flag that is a number": ({"tracked": [1]}, "BadReply: it does not say which outputs require grad"),
    "no places": ({"same": None}, "BadReply: it does not say which outputs are inputs"),
    "a tensor that was not sent": ({"written": [[0, True, NOTHING]]}, "BadReply: a tensor is shorter than it says"),
    "a place that is none": ({"written": [[7, True, {}]]}, "BadReply: it has written where there is nothing"),
    "places by name": ({"written": {"a": 1}}, "BadReply: written is no list"),
    "a graph by name": ({"graph": "x"}, "BadReply: graph is no int"),
    "another kind": ({"kind": "loaded"}, "BadReply: a reply is of another kind"),
    "a terabyte": ({"value": {"tensor": NOTHING | {"shape": [2**19] * 2, "strides": [0, 0]}}}, "are too large"),
    "a line before all": (ERROR | {"frames": [FRAME]}, "no such number"),
    "a frame that is none": (ERROR | {"frames": [{}]}, "an error has no such description"),
    "a name with a null": (ERROR | {"name": "a\0", "message": "\ud800"}, "Exception"),
}
EACH_PUSH = ("a tensor that was not sent", "a terabyte", "a line before all")


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=[] if each in EACH_PUSH else [pytest.mark.nightly]) for each in BAD]
)
def test_a_reply_that_cannot_be_is_an_error_of_the_text(name: str) -> None:
    fields, words = BAD[name]

    async def asked() -> tuple[str, bool]:
        async with engine_of_text(edited() + CHANGED.format(fields=fields), deadline=60.0) as engine:
            await engine.wait_ready()
            worker = engine.worker
            with pytest.raises(Unsolved) as told:
                await first_answer(engine)
            return str(told.value), worker == engine.worker

    sentence, lives = event_loop.run(asked())
    assert words in sentence
    assert lives


def test_numbers_that_are_made_up_are_judged_as_they_are() -> None:
    async def asked() -> str:
        fields = {"tracked": [False]}
        async with engine_of_text(edited() + CHANGED.format(fields=fields), deadline=60.0) as engine:
            return str((await first_answer(engine)).header["verdict"]["word"])

    assert event_loop.run(asked()) == "no gradient"
