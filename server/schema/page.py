"""The JSON document from which a page draws a section and tells of it."""

from typing import Literal

from typing_extensions import TypedDict

from .section import (
    Bins,
    ColumnsRecord,
    Ends,
    FailureRecord,
    JumpRecord,
    KinkRecord,
    Nouns,
    NumberColumn,
    NumericalRecord,
    TermsRecord,
    ToleranceRecord,
    VerdictWord,
)

Labels = list[tuple[float, str]]


class AxisRecord(TypedDict):
    """From where to where, what of it has to be in sight, and the labels with their places."""

    range: Ends
    least: Ends
    ticks: Labels


class AxesRecord(TypedDict):
    """The y-axes of one layout, and what the upper and the lower one measure."""

    upper: AxisRecord
    lower: AxisRecord | None
    words: tuple[str, str]


class LegendRecord(TypedDict):
    """What is drawn, by name, and the words for marks and stripes."""

    curves: list[str]
    bends: str
    differing: str


class SceneRecord(TypedDict):
    """What is drawn, without colours.

    ``few`` and ``many`` are the labels of the x-axis below a narrow figure and a wide one. A curve is its name, its
    column, whether it belongs to the slopes, and the rows that it leaves out; marks have a name, that, x and y.
    ``seen`` are bars of the numbers of a step: from, to, and height as a share of the panel.
    Nothing is drawn in the rows ``gaps``; ``steep`` is where values run off to a pole.
    """

    axes: dict[Literal["stacked", "overlaid"], AxesRecord]
    few: Labels
    many: Labels
    stripes: list[Ends]
    seen: Bins
    opacity: float
    curves: list[tuple[str, str, bool, list[int]]]
    marks: list[tuple[str, bool, NumberColumn, NumberColumn]]
    gaps: list[int]
    steep: list[Ends]
    nouns: Nouns
    legend: LegendRecord


class ReadingsRecord(TypedDict):
    """The words beside numbers: by column for the rows without one, by status, and for single rows."""

    gaps: dict[str, list[tuple[str, list[int]]]]
    they: list[str]
    rows: dict[str, str]


class FoundRecord(TypedDict):
    """The verdict in a word, a line and sentences, and where analytical and numerical differ."""

    word: VerdictWord
    headline: str
    sentence: str
    intervals: list[Ends]


class WrongRecord(TypedDict):
    """Another element by which backward is wrong, and the call in which it is, "" for the one at hand."""

    element: str
    recipe: str


class PagePanelRecord(TypedDict):
    """A view as HTML, as a page of this server shows it; ``at`` is the x of the node, or of the steps.

    ``numbers`` is the document of a Jacobian, whose cells are read one by one.

    ``line`` is the proof in short, as HTML, ``undecided`` where it says nothing; it ``holds``, to the letter, for each
    grad_output between two.
    """

    address: str
    view: Literal["area", "jacobian", "map", "precision", "wide", "step", "contract", "proof", "node"]
    op: str
    title: str
    sentence: str
    failure: FailureRecord | None
    at: float | None
    wrong: WrongRecord | None
    line: str
    undecided: list[Ends]
    holds: Ends | None
    html: str
    numbers: dict[str, object] | None


class CompactRecord(TermsRecord):
    """A section at the precision that can be seen."""

    address: str
    view: Literal["curves"]
    op: str
    title: str
    start: float
    stop: float
    count: int
    failure: FailureRecord | None
    notes: list[str]
    numerical: NumericalRecord | None
    tolerance: ToleranceRecord | None
    verdict: FoundRecord
    marks: list[KinkRecord | JumpRecord]
    columns: ColumnsRecord


class DrawnRecord(CompactRecord):
    """A section, what is drawn of it, and the words beside its numbers."""

    scene: SceneRecord
    readings: ReadingsRecord


class PageSectionRecord(DrawnRecord):
    """A section as a page of this server redraws it; ``words`` are HTML by the element that they fill."""

    words: dict[str, str]
