"""The controls of the page of a pair: those of both figures, those of one, and overrides for one side."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..schema.op import OpDescription
from ..url.address import GRAD_OUTPUT_RANGE, default_address, default_ranges, query_values
from ..url.parse import QueryWords
from .pair_query import SIDES, SectionPair

_FIRST, _HELD, _ELEMENT, _SENT, _PRECISION = "first", "held", "element", "sent", "precision"


@dataclass(frozen=True)
class Control:
    """One field: its ``name`` in the query, the parameter ``word`` that it sets on these ``sides``, and its ``value``.

    ``kind`` is that of a parameter, ``list`` or ``element``; ``usual`` is the default; ``role`` is the group of fields
    on the page. ``columns`` are those of a list, ``lesser`` the choices that come last.
    """

    word: str
    kind: str
    usual: str
    role: str = _FIRST
    hint: str = ""
    extent: tuple[float, float] | None = None
    choices: tuple[str, ...] = ()
    lesser: tuple[str, ...] = ()
    columns: int = 1
    name: str = ""
    value: str = ""
    sides: tuple[str, ...] = ()
    idle: bool = False


@dataclass(frozen=True)
class Controls:
    """``moving`` are the fields of both sides or of one, in the order of the page; ``apart`` the overrides by side."""

    moving: list[Control]
    apart: dict[str, list[Control]]

    def of_role(self, *roles: str) -> list[Control]:
        """The fields of these groups."""
        return [each for each in self.moving if each.role in roles]

    @property
    def every(self) -> list[Control]:
        return [*self.moving, *(each for side in SIDES for each in self.apart[side])]


def pair_controls(
    ops: tuple[OpDescription, OpDescription], pair: SectionPair, said: QueryWords, dtypes: tuple[str, ...]
) -> Controls:
    """The fields of the page of ``pair``; ``said`` are the parameters of its canonical query."""
    declared = [list(_declared(op, dtypes)) for op in ops]
    twins = [each for each in declared[0] if each.word not in SIDES and any(_alike(each, one) for one in declared[1])]
    shared = {each.word for each in twins}
    moving = [
        _idle(replace(each, name=each.word, value=said.get(each.word, each.usual), sides=SIDES), pair) for each in twins
    ]
    apart: dict[str, list[Control]] = {}
    for side, address, mine, others in zip(SIDES, pair.both, declared, reversed(declared), strict=True):
        taken, told = {*SIDES, *(each.word for each in others)}, query_values(address)
        apart[side] = [_idle(_apart(each, side, said), pair) for each in twins]
        for each in mine:
            if each.word not in shared:
                name = f"{side}.{each.word}" if each.word in taken else each.word
                moving.append(_idle(replace(each, name=name, value=told[each.word], sides=(side,)), pair))
    return Controls(moving, apart)


def _apart(twin: Control, side: str, said: QueryWords) -> Control:
    """The override of a common field for one side; where it is empty, the common field holds."""
    name = f"{side}.{twin.word}"
    return replace(twin, name=name, value=said.get(name, ""), usual="", hint="", extent=None, sides=(side,))


def _alike(one: Control, other: Control) -> bool:
    """Whether one field can serve both sides: same name, kind, default and choices."""
    shape = [(each.word, each.kind, each.usual, each.choices, each.lesser, each.columns) for each in (one, other)]
    return shape[0] == shape[1]


def _idle(control: Control, pair: SectionPair) -> Control:
    """The control, marked as idle where what it sets is swept on all of its sides."""
    swept = {side: address.question.wrt for side, address in zip(SIDES, pair.both, strict=True)}
    return replace(control, idle=all(str(swept[side]) == control.word for side in control.sides))


def _declared(op: OpDescription, dtypes: tuple[str, ...]) -> Iterator[Control]:
    """The fields of one op, without those that always apply to both sides."""
    usual, spans = query_values(default_address(op)), default_ranges(op)
    yield Control("grad_output", "float", usual["grad_output"], _SENT, extent=GRAD_OUTPUT_RANGE)
    for each in op["parameters"]:
        name = each["name"]
        choices = ("true", "false") if each["kind"] == "switch" else tuple(each["choices"])
        yield Control(name, each["kind"], usual[name], _FIRST, each["description"], spans.get(name), choices)
    yield from _elements(op, usual)
    for tensor in (each for each in op["inputs"] if each["values"]):
        name, columns = tensor["name"], tensor["shape"][-1] if tensor["shape"] else 1
        kind, extent = ("list", None) if tensor["shape"] else ("float", spans[name])
        hint = f"held at, {' × '.join(map(str, tensor['shape']))}" if tensor["shape"] else "held at"
        yield Control(name, kind, usual[name], _HELD, hint, extent, columns=columns)
    yield Control("dtype", "choice", usual["dtype"], _PRECISION, choices=dtypes)


def _elements(op: OpDescription, usual: dict[str, str]) -> Iterator[Control]:
    """The fields ``of`` and ``wrt``, where there is a choice."""
    floats = {each["name"] for each in op["parameters"] if each["kind"] == "float"}
    for word, hint, elements in (
        ("of", "derivative of", op["elements"]["of"]),
        ("wrt", "with respect to", op["elements"]["wrt"]),
    ):
        least = floats if word == "wrt" else set()
        choices = tuple(each for each in elements if each not in least)
        lesser = tuple(each for each in elements if each in least)
        if len(choices) + len(lesser) > 1:
            yield Control(word, "element", usual[word], _ELEMENT, hint, choices=choices, lesser=lesser)
