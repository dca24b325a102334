"""The picture of a pair: both figures side by side on the same axes, with stripes where the two differ."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from ..documents.typography import typeset_powers, typeset_sentence
from ..figure.axis_range import common_axis_ranges
from ..figure.font_metrics import text_width, truncated_text, wrapped_lines
from ..figure.legend_keys import LegendEntry, legend_entries, legend_rows
from ..figure.palette import Pen, palette
from ..figure.panels import Panels, draw_panels, lay_out_panels
from ..figure.scene import Scene, build_scene
from ..figure.sheet_svg import svg_sheet
from ..figure.view_marks import box_key
from ..protocol.answer import CurvesAnswer
from ..schema.section import Ends
from .difference_sentences import difference_stretches
from .page import ComparedPair

PAIR_SIZE = (1200, 800)
_PAD, _UNIT, _SMALL, _BETWEEN, _LINES = 26.0, 24.0, 17.0, 36.0, 4
_HEAD, _FOOT = 27.0, 84.0
_COLOUR, _OPACITY = "bfloat16", 0.13  # of the stripes, which no curve has
_LEAST = 0.004  # of the range, the width of a stripe at a single point


def pair_svg(both: ComparedPair, theme: str) -> str:
    """The SVG of a pair that is measured; raises ``ValueError`` for one that is not."""
    if both.answers is None:
        raise ValueError("a pair is drawn when both are measured")
    pen = Pen(palette(theme))
    description = " ".join(both.words)
    shapes = list(_shapes(pen, both, both.answers, description))
    return svg_sheet(pen, theme, PAIR_SIZE, (both.title, typeset_sentence(description)), shapes)


def _shapes(pen: Pen, both: ComparedPair, answers: tuple[CurvesAnswer, CurvesAnswer], said: str) -> Iterator[Markup]:
    width, height = PAIR_SIZE
    room = width - 2 * _PAD
    yield pen.write(truncated_text(both.title, room, 30, "bold"), _PAD, 50, 30, "bold")
    y = 50.0
    lines = wrapped_lines(typeset_powers(typeset_sentence(said)), room, 18)
    for line in lines[:_LINES]:
        y += 27
        yield pen.write(line, _PAD, y, 18, fill="muted")
    held, layout = common_axis_ranges(answers), both.pair.left.layout
    scenes = [build_scene(answer, layout, held) for answer in answers]
    stretches = difference_stretches(*answers) if all(answer.columns for answer in answers) else ([], [])
    wide = (room - _BETWEEN) / 2
    entries = [_entries(scene, stretches) for scene in scenes]
    starts = [_PAD + i * (wide + _BETWEEN) for i in range(2)]
    y += 40
    for start, op, side, scene in zip(starts, both.ops, ("left", "right"), scenes, strict=True):
        title = truncated_text(op["title"], wide * 0.6, 21, "bold")
        yield pen.write(title, start, y, 21, "bold")
        after = text_width(title, 21, "bold") + 14
        setting = ", ".join(part for part in (both.own(side), scene.section.verdict_name) if part)
        yield pen.write(truncated_text(setting, wide - after, 17), start + after, y, 17, fill="muted")
    count = 2 if scenes[0].lower else 1
    rows = [
        [_rows(scene, i, found[i], wide) for scene, found in zip(scenes, entries, strict=True)] for i in range(count)
    ]
    heads = [_HEAD * max(map(len, each)) + 12 for each in rows]
    high = (height - y - _FOOT - sum(heads)) / count
    tops = []
    for i in range(count):
        for start, scene, lines_of in zip(starts, scenes, rows[i], strict=True):
            yield from _head(pen, scene, i, start, y, lines_of)
        y += heads[i]
        tops.append(y)
        y += high
    for start, scene in zip(starts, scenes, strict=True):
        panels = lay_out_panels(scene, (start, start + wide), tuple(tops), high, _UNIT * 0.85, _SMALL)
        yield from _stripes(pen, panels, stretches)
        yield from draw_panels(pen, panels, True)
    yield pen.write("Gradloupe", width - _PAD, height - 16, 16, fill="muted", anchor="end")


def _entries(scene: Scene, stretches: tuple[list[Ends], list[Ends]]) -> tuple[list[LegendEntry], list[LegendEntry]]:
    upper, lower = legend_entries(scene, glossed=False)
    key = [box_key("the two differ", _COLOUR, 0.3)]
    upper += key if stretches[0] else []
    lower += key if stretches[1] and (scene.lower or not stretches[0]) else []
    return (upper, lower) if scene.lower else (upper + lower, [])


def _rows(scene: Scene, i: int, found: list[LegendEntry], wide: float) -> list[list[tuple[float, LegendEntry]]]:
    return legend_rows(found, text_width(_words(scene, i), _SMALL, "code") + 26, wide, _SMALL)


def _words(scene: Scene, i: int) -> str:
    return (scene.lower if i and scene.lower else scene.upper).words


def _head(
    pen: Pen, scene: Scene, i: int, left: float, y: float, rows: list[list[tuple[float, LegendEntry]]]
) -> Iterator[Markup]:
    yield pen.write(_words(scene, i), left, y + _HEAD, _SMALL, "code")
    for row in rows:
        y += _HEAD
        for x, sample in row:
            yield sample.draw(pen, left + x, y - 0.32 * _SMALL, _SMALL)
            words = left + x + sample.room(_SMALL) - text_width(sample.words, _SMALL)
            yield pen.write(sample.words, words, y, _SMALL)


def _stripes(pen: Pen, panels: Panels, stretches: tuple[list[Ends], list[Ends]]) -> Iterator[Markup]:
    """Where forward differs in the panel of values, and where backward does in that of slopes."""
    kinds = stretches if len(panels.tops) > 1 else ([*stretches[0], *stretches[1]],)
    wide = panels.right - panels.left
    for top, found in zip(panels.tops, kinds, strict=True):
        for low, high in found:
            first, last = (max(0.0, min(1.0, panels.scene.many.share(end))) for end in (low, high))
            more = max(0.0, _LEAST - (last - first)) / 2
            box = {"x": panels.left + wide * max(0.0, first - more), "y": top, "height": panels.height}
            box |= {"width": wide * (min(1.0, last + more) - max(0.0, first - more)), "opacity": _OPACITY}
            yield pen.draw("rect", {**box}, fill=_COLOUR)
