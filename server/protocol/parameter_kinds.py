"""What a parameter of the address may be, as data: the kind of its text, its scope, and what it is for."""

import math
from dataclasses import MISSING, Field, dataclass, fields
from typing import Any, Literal, get_args, get_type_hints

LARGEST = 1e300  # differences of numbers up to here stay finite
SMALLEST = math.ulp(0.0)  # above 0

Scope = Literal["section", "view", "dress"]


@dataclass(frozen=True)
class Number:
    """A finite number within bounds; ``whole`` for an int."""

    minimum: float = -LARGEST
    maximum: float = LARGEST
    whole: bool = False


@dataclass(frozen=True)
class WordChoice:
    """One of these words; an int is written in digits."""

    words: tuple[str | int, ...]


@dataclass(frozen=True)
class Several:
    """Some of these words, separated by commas; read in the order that they have here."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class Switch:
    """``true`` or ``false``."""


@dataclass(frozen=True)
class NumberList:
    """Numbers, separated by commas, semicolons or line ends."""


@dataclass(frozen=True)
class ElementName:
    """An element of what the op has ``among`` its ``swept`` inputs and float parameters, or its ``outputs``."""

    among: Literal["swept", "outputs"]


@dataclass(frozen=True)
class DeviceName:
    """``auto``, or a device of this machine."""


@dataclass(frozen=True)
class SliderCounts:
    """Controls of the op, each with its number of values, as in ``min:9,grad_output:3``."""

    minimum: int
    maximum: int


@dataclass(frozen=True)
class RecipeText:
    """How a user's own Function is called."""


Kind = Number | WordChoice | Several | Switch | NumberList | ElementName | DeviceName | SliderCounts | RecipeText


@dataclass(frozen=True)
class QueryParameter:
    """A parameter that every address has.

    ``scope`` is what it says: the ``section``, the ``view`` that looks at it more closely, or the ``dress`` in which it
    is shown. ``default`` is None where it depends on the op, or is chosen from the numbers; one that is ``optional``
    has its default where its text is empty. In an address it stands behind the one before it, or behind ``after``.
    ``views`` are those that use it, empty for all. With a ``hint``, in which ``{of}`` is the output looked at, they
    have a field for it.
    """

    name: str
    scope: Scope
    kind: Kind
    doc: str
    default: Any
    optional: bool
    after: str
    views: tuple[str, ...]
    hint: str

    @property
    def is_list(self) -> bool:
        return isinstance(self.kind, NumberList)


@dataclass(frozen=True)
class _Described:
    """What stands beside the type of a field that is a parameter, in ``Annotated``."""

    scope: Scope
    kind: Kind
    doc: str
    optional: bool = False
    after: str = ""
    views: tuple[str, ...] = ()
    hint: str = ""


def of_section(kind: Kind, doc: str, optional: bool = False, after: str = "") -> _Described:
    """A parameter that says which section is looked at, as an annotation of a field."""
    return _Described("section", kind, doc, optional, after)


def of_view(kind: Kind, doc: str, views: tuple[str, ...] = (), hint: str = "") -> _Described:
    """The same, for what only a closer look at the section depends on."""
    return _Described("view", kind, doc, views=views, hint=hint)


def of_dress(kind: Kind, doc: str) -> _Described:
    """The same, for what only the appearance depends on."""
    return _Described("dress", kind, doc)


def parameters_of(record: type) -> dict[str, QueryParameter]:
    """The parameters among the fields of a dataclass, by name, in the order of the fields."""
    hints = get_type_hints(record, include_extras=True)
    described = {
        name: [each for each in get_args(hint)[1:] if isinstance(each, _Described)] for name, hint in hints.items()
    }
    return {each.name: _parameter(each, *described[each.name]) for each in fields(record) if described[each.name]}


def _parameter(field: Field[Any], said: _Described) -> QueryParameter:
    default = None if field.default is MISSING else field.default
    empty = field.default is not MISSING and default in (None, "", ())
    optional = said.optional or empty
    return QueryParameter(
        field.name, said.scope, said.kind, said.doc, default, optional, said.after, said.views, said.hint
    )
