"""Whether what was received has the shape that a type says: worker and server share no types, only bytes."""

from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, NotRequired, Union, get_args, get_origin

from typing_extensions import get_type_hints, is_typeddict

_LEAVES: dict[Any, type | tuple[type, ...]] = {
    **{str: str, bool: bool, int: int, float: (int, float)},
    **{NoneType: NoneType, None: NoneType},
}


def fits(value: Any, shape: Any) -> bool:
    """Whether plain data have this shape: that of a ``TypedDict`` or dataclass with all its fields, a list, a tuple, …

    Of what is none of these only texts, numbers, truth values, None and words to choose from are looked at.
    """
    kind, inside, fields = _parts(shape)
    if fields is not None:
        return isinstance(value, dict) and all(
            fits(value[name], each) if name in value else get_origin(each) is NotRequired
            for name, each in fields.items()
        )
    if kind is NotRequired:
        return fits(value, inside[0])
    if kind in (Union, UnionType):
        return any(fits(value, each) for each in inside)
    if kind is Literal:
        return not isinstance(value, list | dict) and value in inside
    if kind in (list, Sequence):
        return isinstance(value, list) and all(fits(each, inside[0]) for each in value)
    if kind is tuple:
        parts = inside[:1] * len(value) if inside[1:] == (...,) and isinstance(value, list) else inside
        return isinstance(value, list) and len(value) == len(parts) and all(map(fits, value, parts))
    if kind in (dict, Mapping):
        return isinstance(value, dict) and all(fits(each, inside[1]) for each in value.values())
    return isinstance(value, _LEAVES.get(kind, object))


@cache
def _parts(shape: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any] | None]:
    """What kind of type it is, of what, and with which fields."""
    kind = get_origin(shape) or shape
    fields = get_type_hints(kind, include_extras=True) if is_typeddict(kind) or is_dataclass(kind) else None
    return kind, get_args(shape), fields
