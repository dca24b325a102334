"""What the server knows of an op without torch: what it declares, how it is called, or why no call was found."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict, TypeIs

Claim = Literal["exact", "surrogate", "broken"]
Pairs = list[tuple[str, str]]
Excerpt = list[tuple[int, str]]


class DeviceDescription(TypedDict):
    """A device of this machine, and the dtypes that it has."""

    kind: str
    name: str
    dtypes: list[str]


class DeviceSummary(TypedDict):
    """The release of torch, the devices of this machine, and the kind of the one that ``auto`` takes."""

    torch: str
    devices: list[DeviceDescription]
    auto: str


class ElementDescription(TypedDict):
    """One element of a named tensor, or a parameter by its name (``index`` empty)."""

    name: str
    index: list[int]


class ElementNames(TypedDict):
    """The elements to choose from."""

    wrt: list[str]
    of: list[str]


class OutputDescription(TypedDict):
    """A tensor that forward returns, by its shape; [] for a single number."""

    name: str
    shape: list[int]


class InputDescription(OutputDescription):
    """A tensor that is swept or held: its domain, and the ``values`` that it is held at, in row-major order."""

    description: str
    domain: list[float]
    values: list[float]


class _DescribedParameter(TypedDict):
    name: str
    minimum: float | None
    maximum: float | None
    choices: list[str]
    description: str
    below: str


class NumberDescription(_DescribedParameter):
    """A number that is passed beside the tensors; None where there is no bound.

    ``below`` is the name of another one that it is meant not to exceed, "" where there is none.
    """

    kind: Literal["float", "int"]
    default: float


class SwitchDescription(_DescribedParameter):
    """A bool that is passed beside the tensors."""

    kind: Literal["switch"]
    default: bool


class ChoiceDescription(_DescribedParameter):
    """One of the words ``choices`` that is passed beside the tensors."""

    kind: Literal["choice"]
    default: str


ParameterDescription = NumberDescription | SwitchDescription | ChoiceDescription


class OpStub(TypedDict):
    """What is known of an op without calling it.

    ``digest`` is another one when its code is. ``first_line`` of ``source`` and ``line``, where the Function is
    defined, count in ``file``; ``bound`` is its name there, which ``import_line`` imports. ``declared`` says that there
    is an ``Op(...)``, ``own`` that it is a visitor's.
    """

    name: str
    title: str
    group: str
    doc: str
    claim: Claim
    broken: str
    check: str
    reference: str
    source: str
    digest: str
    own: bool
    declared: bool
    bound: str
    import_line: str
    first_line: int
    line: int
    file: str


class OpDescription(OpStub):
    """An op that can be called.

    ``recipe`` is how a visitor's own is called, ``usual_recipe`` how it is by default. ``assumed`` are its arguments
    with the reason for each, ``left`` those that do not have their default value, with a sentence. ``passed_over`` is a
    sentence on a likelier call, ``made_up`` are arguments that are callables of our own, ``doubt`` is
    what says that another call is meant. ``like`` says that other
    shapes may be tried, ``written`` that the file says how it is called; ``block`` is the source of its declaration.
    ``wrt`` and ``of`` are the default elements.
    """

    forward: str
    backward: str
    surrogate_formula: str
    recipe: str
    usual_recipe: str
    assumed: Pairs
    left: Pairs
    passed_over: str
    made_up: list[str]
    doubt: str
    dtype: str
    grad_output: float
    like: bool
    written: bool
    block: str
    inputs: list[InputDescription]
    parameters: list[ParameterDescription]
    outputs: list[OutputDescription]
    wrt: ElementDescription
    of: ElementDescription
    elements: ElementNames


def is_described(op: OpStub) -> TypeIs[OpDescription]:
    """Whether an entry of a catalogue says how the op is called: those of the gallery do."""
    return "inputs" in op


class ThumbnailCurves(TypedDict):
    """What a sparkline is drawn from, None at gaps, and the word of the verdict, or ``said``, why there is none."""

    x: list[float]
    forward: list[float | None]
    analytical: list[float | None]
    word: str
    said: NotRequired[str]


class LoadError(TypedDict):
    """Why a file, the ``target`` of a report, cannot be loaded; ``excerpt`` has the lines around, numbered."""

    target: NotRequired[str]
    sentence: str
    kind: str
    file: str
    line: int | None
    excerpt: Excerpt
    traceback: str


class UnsolvedOp(OpStub):
    """A visitor's Function that no call was found of: which ``argument`` is at fault ("" if none), and what was tried.

    ``recipe`` is the best text to edit, ``parameters`` are the evidence on each argument, ``trouble`` is what the
    Function itself raises. ``sayable`` says that another recipe may work, ``unfit`` that no arguments would help.
    """

    sentence: str
    argument: str
    recipe: str
    tried: Pairs
    parameters: Pairs
    trouble: LoadError | None
    sayable: bool
    unfit: bool
