"""A guest that answers what cannot be is told so, by one kind of error; neither worker nor verdict is shaken by it."""

from typing import Any

import pytest
from support import event_loop
from support.edits import edited, engine_of_text, first_answer

from gradloupe.server.protocol.errors import EngineBroken, Unsolved

# The wire is changed in the guest itself, which edited code may do: each reply gets these fields.
CHANGED = """
from gradloupe.server.sandbox import guest
packed = guest.packed
guest.packed = lambda header, segments: packed(header | {fields!r} if header["kind"] in KINDS else header, segments)
KINDS = {kinds!r}
"""
OP = {
    **dict.fromkeys(("function", "title", "group", "forward", "backward", "surrogate_formula", "broken", "check"), ""),
    **{"inputs": [], "parameters": [], "outputs": []},
    **dict.fromkeys(("call", "surrogate", "surrogate_takes", "descent"), None),
    **{"wrt": "", "of": "", "dtype": "float64", "grad_output": 1.0, "reference": "", "name": ""},
}
INPUT = {"name": "x", "description": "", "shape": [], "domain": [-1.0, 1.0], "value": 1.0}
FUNCTION = {"name": "Edited", "qualname": "Edited", "static": True, "once": False, "roles": {}}
# The same of what it says when it has executed the text.
DESCRIBED: dict[str, dict[str, Any]] = {
    "functions by name": {"functions": {"Edited": FUNCTION}},
    "a function of another text": {"functions": [FUNCTION | {"qualname": "os.system"}]},
    "a line that is none": {"functions": [FUNCTION | {"roles": {"forward": {"line": "1", "defaults": {}}}}]},
    "defaults of another kind": {
        "functions": [FUNCTION | {"roles": {"forward": {"line": 9, "defaults": {"tensor": 1}}}}]
    },
    "a hundred thousand functions": {"functions": [FUNCTION] * 5000},
    "an op of no function": {"ops": {"op": OP}},
    "an op whose names run": {"ops": {"op": OP | {"function": "Edited", "call": ["x) or print("], "inputs": [INPUT]}}},
    "an op of another shape": {"ops": {"op": OP | {"function": "Edited", "inputs": [INPUT | {"shape": [-1, "a"]}]}}},
    "an op of all memory": {"ops": {"op": OP | {"function": "Edited", "inputs": [INPUT | {"shape": [2**17] * 9}]}}},
    "an op with a value of text": {"ops": {"op": OP | {"function": "Edited", "inputs": [INPUT | {"value": "x"}]}}},
    "an op with a field too many": {"ops": {"op": OP | {"function": "Edited", "inputs": [INPUT | {"eval": "x"}]}}},
    "an op without a field": {"ops": {"op": {"function": "Edited"}}},
    "a claim of another": {"claims": {"os.system": OP | {"function": "Edited", "surrogate": []}}},
    "a claim that is none": {"claims": {"Edited": None}},
    "examples of another kind": {"examples": {"object": "x.y"}},
    "examples without end": {"examples": {"list": [1] * 5000}},
}


def changed(fields: dict[str, Any], *kinds: str) -> str:
    """Code that adds these fields to all replies of these kinds."""
    return CHANGED.format(fields=fields, kinds=kinds or ("returned", "raised"))


NOTHING = {"dtype": "float64", "shape": [], "strides": []}
ERROR = {"kind": "raised", "name": "X", "base": "X", "message": "", "line": None, "frames": []}
FRAME = {"function": "f", "first": 1, "position": [-1, 1, 0, 0]}
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no output": ({"value": None}, "BadReply: it does not say which outputs require grad"),
    "a class of its own": ({"value": {"object": "Spy"}}, "BadReply: it does not say which outputs require grad"),
    "a tensor of nothing": ({"value": {"tensor": {}}}, "a tensor has no such description"),
    "a tensor of negative size": (
        {"value": {"tensor": NOTHING | {"shape": [-1], "strides": [1]}}},
        "no such description",
    ),
    "a group of errors": (ERROR | {"name": "ExceptionGroup", "base": "ExceptionGroup"}, "ExceptionGroup"),
    "an error of the machine": (ERROR | {"name": "SystemExit", "base": "SystemExit"}, "SystemExit"),
    "a name of another": (ERROR | {"name": "__init__", "base": "type"}, "__init__"),
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
ENDS = ("BadReply", "BadDeclaration", "NothingToLookAt", "Unsolved", "matches")
EACH_PUSH = (
    "a tensor that was not sent",
    "a terabyte",
    "a line before all",
    "an op of all memory",
    "a claim that is none",
)


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=[] if each in EACH_PUSH else [pytest.mark.nightly]) for each in BAD]
)
def test_a_reply_that_cannot_be_is_an_error_of_the_text(name: str) -> None:
    fields, words = BAD[name]

    async def asked() -> tuple[str, bool]:
        async with engine_of_text(edited() + changed(fields), deadline=60.0) as engine:
            await engine.wait_ready()
            worker = engine.workers[0]
            with pytest.raises(Unsolved) as told:
                await first_answer(engine)
            return str(told.value), worker == engine.workers[0]

    sentence, lives = event_loop.run(asked())
    assert words in sentence
    assert lives


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=[] if each in EACH_PUSH else [pytest.mark.nightly]) for each in DESCRIBED]
)
def test_a_description_that_cannot_be_is_an_error_of_the_text_or_of_none(name: str) -> None:
    async def asked() -> str:
        async with engine_of_text(edited() + changed(DESCRIBED[name], "loaded"), deadline=60.0) as engine:
            try:
                return str((await first_answer(engine)).header["verdict"]["word"])
            except EngineBroken:
                assert engine.trouble is not None
                return str(engine.trouble["kind"])
            except Unsolved:
                return "Unsolved"

    assert event_loop.run(asked()) in ENDS


def test_numbers_that_are_made_up_are_judged_as_they_are() -> None:
    async def asked() -> str:
        fields = {"tracked": [False]}
        async with engine_of_text(edited() + changed(fields), deadline=60.0) as engine:
            return str((await first_answer(engine)).header["verdict"]["word"])

    assert event_loop.run(asked()) == "no gradient"
