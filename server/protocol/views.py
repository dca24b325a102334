"""The views of a section, one row each: what it is called, what it shows, and what its document consists of."""

from dataclasses import dataclass
from typing import Any, Literal

from ..schema import jacobian, node, proof, section, surface, views

AnswerRecord = (
    section.SectionRecord
    | views.AreaRecord
    | views.MapRecord
    | views.PrecisionRecord
    | views.WideRecord
    | views.StepRecord
    | jacobian.JacobianRecord
    | surface.SurfaceRecord
    | views.ContractRecord
    | node.NodeRecord
    | proof.ProofRecord
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
    """One document of a section, asked for by ``view=`` and its ``name``; ``gist`` says what it shows.

    ``header`` and ``columns`` are the types of the document, which has ``more`` columns of numbers where these cannot
    be told beforehand; ``axes`` are those of a grid: the other columns have one row for each of its points.
    ``title`` is that of its picture. A view without one has rows of words. Which is ``scripted`` is drawn by a script
    on a page, to which the others come as HTML. ``order`` 2 shows its ``second`` derivatives, the ``first`` all the
    same, or means nothing to it, ``none``.
    """

    name: str
    gist: str
    header: type[Any]
    columns: type[Any]
    title: str = ""
    entry: PageEntry | None = None
    order: Literal["first", "second", "none"] = "first"
    axes: tuple[str, str] | None = None
    more: bool = False
    scripted: bool = False

    @property
    def heading(self) -> str:
        """The heading of the view on a page."""
        own = self.entry.heading if self.entry else ""
        return own or self.title[:1].upper() + self.title[1:]


_ROWS = (
    View(
        "curves",
        "the curves and the verdict",
        section.SectionRecord,
        section.ColumnsRecord,
        "curves",
        order="second",
        scripted=True,
    ),
    View(
        "area",
        "how far forward rises between neighbouring x, against the area under what backward returned",
        views.AreaRecord,
        views.AreaColumnsRecord,
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
        "what backward returns for many `grad_output`",
        views.MapRecord,
        views.MapColumnsRecord,
        "what backward returns for many grad_output",
        PageEntry("Structure", "grad_output map", "What comes back for each grad_output, of both signs?"),
        axes=("x", "grad_output"),
    ),
    View(
        "precision",
        "the dtypes and devices side by side",
        views.PrecisionRecord,
        views.PrecisionColumnsRecord,
        "rounding in every dtype",
        PageEntry("Accuracy", "Precision", "How much does rounding cost in float32, bfloat16 and float16?"),
        more=True,
    ),
    View(
        "wide",
        "all numbers that the dtype can hold",
        views.WideRecord,
        views.WideColumnsRecord,
        "whole range of the dtype",
        PageEntry("Accuracy", "Whole range", "Does it hold for very small and very large numbers?"),
        order="second",
    ),
    View(
        "step",
        "the differences `at` one x with steps of every size",
        views.StepRecord,
        views.StepColumnsRecord,
        "error against step size",
        PageEntry("Accuracy", "Step", "How far can the differences be trusted at one point?"),
        order="second",
    ),
    View(
        "jacobian",
        "every element of one output by every element of one input, and which input reaches which output",
        jacobian.JacobianRecord,
        jacobian.JacobianColumnsRecord,
        "Jacobian",
        PageEntry("Structure", "Jacobian", "Which outputs depend on which inputs, and how much?"),
    ),
    View(
        "surface",
        "two elements swept at once, `wrt` and `wrt2`, and whether what backward returned is the gradient of any "
        "function; at most 101 × 101 points",
        surface.SurfaceRecord,
        surface.SurfaceColumnsRecord,
        "two elements at once",
        PageEntry(
            "Structure", "Surface", "What happens when two numbers change at once?", "Surface: two elements at once"
        ),
        axes=("x", "y"),
        scripted=True,
    ),
    View(
        "contract",
        "what autograd expects of a Function and does not report, row by row",
        views.ContractRecord,
        views.ContractColumnsRecord,
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
        "what is proved for every real x of the range, stretch by stretch, and where backward is refuted",
        proof.ProofRecord,
        proof.ProofColumnsRecord,
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
        "the graph around one call, and what its ctx holds",
        node.NodeRecord,
        node.NodeColumnsRecord,
        "",
        PageEntry("Training", "Node", "What is saved for backward, and what flows back?", "Autograd graph node"),
        order="none",
    ),
    View(
        "descent",
        "gradient descent on a loss of the output, with this backward and with the numerical gradient",
        views.DescentRecord,
        views.DescentColumnsRecord,
        "effect on gradient descent",
        PageEntry("Training", "Descent", "What does training with this backward lead to?"),
        more=True,
        scripted=True,
    ),
)
VIEWS = {view.name: view for view in _ROWS}
VIEW_NAMES = tuple(VIEWS)
DRAWN_VIEWS = tuple(view.name for view in VIEWS.values() if view.title)
WRITTEN_VIEWS = tuple(view.name for view in VIEWS.values() if not view.scripted)  # as HTML
