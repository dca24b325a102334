"""What a guest sends is one of a few kinds of value, or refused; what it is sent arrives as it was."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gradloupe.server.sandbox.wire import MAX_TENSORS, BadReply, Reading, Unsendable, Writing, parsed, sizes

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inside: (
        st.lists(inside, max_size=4)
        | st.dictionaries(st.sampled_from(["tensor", "tuple", "list", "dict", "named", "complex", "object"]), inside)
        | st.fixed_dictionaries({"tensor": st.fixed_dictionaries(dict.fromkeys(("dtype", "shape", "strides"), inside))})
    ),
    max_leaves=20,
)
LAYOUT = st.fixed_dictionaries(
    {
        "dtype": st.sampled_from(["float64", "bool", "complex64", "int8", "bfloat16"]),
        "shape": st.lists(st.integers(-1, 2**40), max_size=4),
        "strides": st.lists(st.integers(-1, 2**40), max_size=4),
    }
)


def sent(value: Any) -> Any:
    """A value after its way over the wire."""
    writing = Writing()
    plain = json.loads(json.dumps(writing.value(value)))
    return Reading(b"".join(writing.segments)).value(plain)


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 3, -2.5, float("inf"), "text", 1 + 2j, (1, (2.0, "a")), [1, []], {"a": {"b": 1}, "c": ()}),
        *(torch.float32, torch.relu, SimpleNamespace(eps=1e-5)),
    ],
)
def test_a_value_arrives_as_it_was(value: Any) -> None:
    assert sent(value) == value


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.complex64, torch.int8, torch.bool])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 1)])
def test_a_tensor_arrives_as_it_was(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    tensor = (torch.arange(6.0)[: max(1, torch.Size(shape).numel())] - 2).to(dtype)
    tensor = tensor[: torch.Size(shape).numel()].reshape(shape)
    arrived = sent(tensor)
    assert arrived.dtype == dtype
    assert torch.equal(arrived, tensor)


def test_a_tensor_keeps_its_strides_and_what_lies_between_its_elements() -> None:
    memory = torch.arange(12.0)
    for tensor in (memory[::3], memory.reshape(3, 4).T, memory[:1].expand(5), memory[2:8].reshape(2, 3)[:, ::2]):
        arrived = sent(tensor)
        assert arrived.stride() == tensor.stride()
        assert torch.equal(arrived, tensor)
    gap = sent(memory[::3])
    assert gap.as_strided((3,), (1,)).tolist() == [0, 1, 2]


def test_what_has_no_form_is_refused_or_known_by_its_class() -> None:
    with pytest.raises(Unsendable, match="a object cannot be handed"):
        Writing().value(object())
    plain = Writing(foreign=True).value(open)
    assert type(Reading(b"").value(plain)).__name__ == "builtin_function_or_method"


@given(JSON)
def test_whatever_a_guest_sends_is_a_value_or_a_bad_reply(plain: Any) -> None:
    try:
        Reading(bytes(64)).value(plain)
    except BadReply:
        return
    assert not isinstance(plain, list)


@given(LAYOUT, st.binary(max_size=256))
def test_a_tensor_never_reaches_beyond_what_was_sent(layout: dict[str, Any], payload: bytes) -> None:
    try:
        tensor = Reading(payload).value({"tensor": layout})
    except BadReply:
        return
    assert list(tensor.shape) == layout["shape"]
    assert tensor.untyped_storage().nbytes() <= max(len(payload), 1)
    assert tensor.numel() * tensor.itemsize <= MAX_TENSORS


@given(st.binary(max_size=64))
def test_a_header_is_an_object_or_a_bad_reply(head: bytes) -> None:
    try:
        assert isinstance(parsed(head), dict)
    except BadReply:
        return


@pytest.mark.parametrize("head", [b"[" * 2**19, b"1" * 9999, b"\xff", b'{"a":' * 99999])
def test_a_header_that_would_break_a_parser_is_a_bad_reply(head: bytes) -> None:
    with pytest.raises(BadReply):
        parsed(head)


def test_a_frame_is_bounded_before_it_is_received() -> None:
    with pytest.raises(BadReply, match="too large"):
        sizes(b"\xff" * 8)


def test_many_tensors_that_share_memory_are_bounded_by_their_elements() -> None:
    expanded = {"tensor": {"dtype": "float64", "shape": [2**20], "strides": [0]}}
    with pytest.raises(BadReply, match="too large"):
        Reading(bytes(8 * 64)).value({"list": [expanded] * 64})
