"""The views of a section, one row each: what it is called, what it shows, and what its document consists of."""

from dataclasses import dataclass
from typing import Any, Literal

from ..schema import section, views

AnswerRecord = (
    section.SectionRecord
    | views.AreaRecord
    | views.MapRecord
    | views.PrecisionRecord
    | views.WideRecord
    | views.StepRecord
    | views.JacobianRecord
    | views.SurfaceRecord
    | views.ContractRecord
    | views.NodeRecord
    | views.ProofRecord
    | views.DescentRecord
)


@dataclass(frozen=True)
class PageEntry:
    """What a page says of a view under *More views*: its ``group`` and ``label`` there, and what it ``asks``.

    ``heading`` stands above the view itself; by default the title of its picture.
    """

    group: str
    label: str
    asks: str
    heading: str = ""


@dataclass(frozen=True)
class View:
    """One document of a section, asked for by ``view=`` and its ``name``.

    ``header`` is the type of its header, and says what it shows; ``columns`` are in the order of the table, where
    further ones may follow, and the ``optional`` ones may be missing as a whole. ``axes`` are those of a grid: the
    other columns have one row for each of its points. ``title`` is that of its picture. A view without one has rows of
    words. Which is ``scripted`` is drawn by a script on a page, to which the others come as HTML. ``order`` 2 shows its
    ``second`` derivatives, the ``first`` all the same, or means nothing to it, ``none``.
    """

    name: str
    header: type[Any]
    columns: tuple[str, ...]
    title: str = ""
    entry: PageEntry | None = None
    order: Literal["first", "second", "none"] = "first"
    axes: tuple[str, str] | None = None
    optional: tuple[str, ...] = ()
    scripted: bool = False

    @property
    def heading(self) -> str:
        """The heading of the view on a page."""
        own = self.entry.heading if self.entry else ""
        return own or self.title[:1].upper() + self.title[1:]


_OF_X, _OF_Y = (tuple(f"{name}_{axis}" for name in ("analytical", "numerical", "allowed", "status")) for axis in "xy")
_ROWS = (
    View(
        "curves",
        section.SectionRecord,
        tuple(section.ColumnsRecord.__annotations__),
        "curves",
        order="second",
        optional=("analytical", "surrogate", "surrogate_numerical", "implied"),
        scripted=True,
    ),
    View(
        "area",
        views.AreaRecord,
        ("left", "right", "rise", "area", "residual", "allowed", "status"),
        "area check",
        PageEntry(
            "Accuracy",
            "Area",
            "Is the area under backward what forward changes by?",
            "Area check: change of forward vs integral of backward",
        ),
        order="second",
    ),
    View(
        "map",
        views.MapRecord,
        ("x", "grad_output", "ratio"),
        "what backward returns for many grad_output",
        PageEntry("Structure", "grad_output map", "What comes back for each grad_output, of both signs?"),
        axes=("x", "grad_output"),
    ),
    View(
        "precision",
        views.PrecisionRecord,
        ("x",),
        "rounding in every dtype",
        PageEntry("Accuracy", "Precision", "How much does rounding cost in float32, bfloat16 and float16?"),
    ),
    View(
        "wide",
        views.WideRecord,
        ("x", "forward", "analytical", "numerical", "error", "status"),
        "whole range of the dtype",
        PageEntry("Accuracy", "Whole range", "Does it hold for very small and very large numbers?"),
        order="second",
    ),
    View(
        "step",
        views.StepRecord,
        ("step", "central", "left", "right", "truncation", "rounding", "taylor"),
        "error against step size",
        PageEntry("Accuracy", "Step", "How far can the differences be trusted at one point?"),
        order="second",
    ),
    View(
        "jacobian",
        views.JacobianRecord,
        ("row", "column", "numerical", "returned", "difference", "error", "left", "right", "status"),
        "Jacobian",
        PageEntry("Structure", "Jacobian", "Which outputs depend on which inputs, and how much?"),
        optional=("returned", "difference"),
    ),
    View(
        "surface",
        views.SurfaceRecord,
        ("x", "y", "forward", *_OF_X, *_OF_Y, "implied"),
        "two elements at once",
        PageEntry(
            "Structure", "Surface", "What happens when two numbers change at once?", "Surface: two elements at once"
        ),
        axes=("x", "y"),
        optional=("analytical_x", "analytical_y", "implied"),
        scripted=True,
    ),
    View(
        "contract",
        views.ContractRecord,
        tuple(views.CheckRecord.__annotations__),
        "",
        PageEntry(
            "Contract",
            "Contract",
            "Does it keep the rules of autograd that no curve can show?",
            "Autograd contract: what autograd does not report",
        ),
        order="none",
    ),
    View(
        "proof",
        views.ProofRecord,
        ("start", "stop", "known"),
        "",
        PageEntry(
            "Contract",
            "Proof",
            "Does it hold for every number in between, not only those looked at?",
            "Proof: every number of the range",
        ),
    ),
    View(
        "node",
        views.NodeRecord,
        ("function", "part", "name", "kind", "shape", "dtype", "bytes", "value"),
        "",
        PageEntry("Training", "Node", "What is saved for backward, and what flows back?", "Autograd graph node"),
        order="none",
    ),
    View(
        "descent",
        views.DescentRecord,
        ("step", "loss", "true_loss"),
        "effect on gradient descent",
        PageEntry("Training", "Descent", "What does training with this backward lead to?"),
        scripted=True,
    ),
)
VIEWS = {view.name: view for view in _ROWS}
VIEW_NAMES = tuple(VIEWS)
DRAWN_VIEWS = tuple(view.name for view in VIEWS.values() if view.title)
WRITTEN_VIEWS = tuple(view.name for view in VIEWS.values() if not view.scripted)  # as HTML
