"""The picture of a pair: both figures side by side on the same axes, with stripes where the two differ."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from markupsafe import Markup

from ..documents.typography import typeset_sentence
from ..figure.curve_panels import curve_panels
from ..figure.legend_keys import box_key
from ..figure.panel import Canvas, Panel
from ..figure.sheet_layout import Picture
from ..figure.sheet_svg import svg_of_picture
from ..schema.section import Ends
from .difference_sentences import difference_stretches
from .page import ComparedPair
from .pair_query import SIDES

PAIR_SIZE = (1200, 800)
_COLOUR, _OPACITY = "bfloat16", 0.13  # of the stripes, which no curve has
_LEAST = 0.004  # of the range, the width of a stripe at a single point


def pair_svg(both: ComparedPair, theme: str) -> str:
    """The SVG of a pair that is measured; raises ``ValueError`` for one that is not."""
    answers = both.answers
    if answers is None:
        raise ValueError("a pair is drawn when both are measured")
    scenes, said = both.scenes, " ".join(both.words)
    stretches = difference_stretches(*answers) if all(answer.columns for answer in answers) else ([], [])
    kinds = stretches if scenes[0].lower else ([*stretches[0], *stretches[1]],)
    columns = ([_striped(*each) for each in zip(curve_panels(scene), kinds, strict=True)] for scene in scenes)
    settings = (
        ", ".join(filter(None, (both.own(side), scene.section.verdict_name)))
        for side, scene in zip(SIDES, scenes, strict=True)
    )
    picture = Picture(
        both.title,
        (both.title, typeset_sentence(said)),
        said,
        tuple(zip(*columns, strict=True)),
        columns=tuple(zip((op["title"] for op in both.ops), settings, strict=True)),
    )
    return svg_of_picture(picture, PAIR_SIZE, theme)


def _striped(panel: Panel, stretches: Sequence[Ends]) -> Panel:
    """A panel with stripes where what it shows differs from what the other one does."""

    def inside(canvas: Canvas) -> Iterator[Markup]:
        for ends in stretches:
            first, last = (max(0.0, min(1.0, canvas.across.share(end))) for end in ends)
            more = max(0.0, _LEAST - (last - first)) / 2
            left, right = (canvas.grid.x(share) for share in (max(0.0, first - more), min(1.0, last + more)))
            box = {"x": left, "width": right - left, "height": canvas.grid.height, "opacity": _OPACITY}
            yield canvas.pen.draw("rect", {**box}, fill=_COLOUR)
        yield from panel.inside(canvas)

    key = [box_key("the two differ", _COLOUR, 0.3)] * bool(stretches)
    legend = panel.brief or panel.legend
    return replace(panel, inside=inside, legend=(*legend, *key), brief=())
