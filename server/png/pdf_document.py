"""A picture as PDF: its lines stay lines, its texts stay texts in subsets of the fonts of the PNG.

It reads the SVG that ``figure`` writes, which has no other elements, units or styles than these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

if TYPE_CHECKING:
    from reportlab.pdfgen.canvas import Canvas
    from reportlab.pdfgen.pathobject import PDFPathObject

_POINTS = 0.75  # of a pixel
_CAPS = {"butt": 0, "round": 1, "square": 2}
_JOINS = {"miter": 0, "round": 1, "bevel": 2}
_INVISIBLE = ("title", "desc", "style", "defs")
_INHERITED = (
    *("fill", "stroke", "stroke-width", "stroke-linecap", "stroke-linejoin", "stroke-dasharray"),
    *("font-size", "font-weight", "font-family", "text-anchor"),
)
_TOKEN = re.compile(r"[A-Za-z]|[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_COUNTS = {"M": 2, "L": 2, "H": 1, "V": 1, "C": 6, "Z": 0}
_FACES = ("DejaVu", "DejaVu-Bold", "DejaVu-Mono")

_Said = Mapping[str, str]


def render_pdf(svg: str, face_files: list[str]) -> bytes:
    """The PDF of a picture, one page as large as it is; ``face_files`` are text, bold and code."""
    from reportlab.pdfgen.canvas import Canvas

    root = ElementTree.fromstring(svg)  # noqa: S314 - it is our own: what users write is escaped in it
    _register(tuple(face_files))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    written = BytesIO()
    canvas = Canvas(written, pagesize=(width * _POINTS, height * _POINTS), invariant=1, pageCompression=1)
    canvas.setTitle(_text_of(root, "title"))
    canvas.setSubject(_text_of(root, "desc"))
    canvas.setCreator("Gradloupe")
    canvas.transform(_POINTS, 0, 0, -_POINTS, 0, height * _POINTS)
    said = {name: text for name, text in root.attrib.items() if name in _INHERITED}
    page = _Page(canvas, width, height, {"fill": "#000000", "stroke": "none", "font-size": "16", **said})
    for child in root:
        page.draw(child)
    canvas.showPage()
    canvas.save()
    return written.getvalue()


@cache
def _register(face_files: tuple[str, ...]) -> None:
    from reportlab.pdfbase.pdfmetrics import registerFont
    from reportlab.pdfbase.ttfonts import TTFont

    for name, file in zip(_FACES, face_files, strict=True):
        registerFont(TTFont(name, file))


def _text_of(root: ElementTree.Element, tag: str) -> str:
    return next((each.text or "" for each in root if _tag(each) == tag), "")


def _tag(element: ElementTree.Element) -> str:
    return str(element.tag).rpartition("}")[2]


@dataclass(frozen=True)
class _Page:
    """Where elements are drawn: the canvas, the size that percentages refer to, and what they inherit."""

    canvas: Canvas
    width: float
    height: float
    said: _Said
    opacity: float = 1.0

    def draw(self, element: ElementTree.Element) -> None:
        tag, own = _tag(element), element.attrib
        if tag in _INVISIBLE:
            return
        said = {**self.said, **{name: text for name, text in own.items() if name in _INHERITED}}
        inner = replace(self, said=said, opacity=self.opacity * float(own.get("opacity", "1")))
        self.canvas.saveState()
        if tag in ("g", "svg"):
            inner.group(element)
        elif tag == "text":
            inner.text(element)
        else:
            inner.shape(tag, own)
        self.canvas.restoreState()

    def group(self, element: ElementTree.Element) -> None:
        inner = self
        for name, given in re.findall(r"(\w+)\(([^)]*)\)", element.get("transform", "")):
            numbers = [float(each) for each in _TOKEN.findall(given)]
            if name == "translate":
                self.canvas.translate(*numbers)
            elif name == "scale":
                self.canvas.scale(numbers[0], numbers[-1])
            elif name == "rotate":
                self.canvas.rotate(numbers[0])
        if _tag(element) == "svg":  # a panel, clipped at its edges
            width, height = self._length(element, "width"), self._length(element, "height")
            self.canvas.translate(self._length(element, "x"), self._length(element, "y"))
            edge = self.canvas.beginPath()
            edge.rect(0, 0, width, height)
            self.canvas.clipPath(edge, stroke=0, fill=0)
            inner = replace(self, width=width, height=height)
        for child in element:
            inner.draw(child)

    def shape(self, tag: str, own: _Said) -> None:
        path = self.canvas.beginPath()
        if tag == "rect":
            sizes = [self._number(own.get(name, "0"), name) for name in ("x", "y", "width", "height")]
            radius = min(float(own.get("rx", "0")), sizes[2] / 2, sizes[3] / 2)
            path.roundRect(*sizes, radius) if radius else path.rect(*sizes)
        elif tag == "circle":
            path.circle(*(self._number(own.get(name, "0"), name) for name in ("cx", "cy", "r")))
        elif tag == "path":
            _trace(path, own.get("d", ""))
        else:
            raise ValueError(f"a picture has no <{tag}>")
        self._paint(path)

    def text(self, element: ElementTree.Element) -> None:
        """A line of text, pieces of it in a ``tspan`` of another colour or weight."""
        x, y = self._length(element, "x"), self._length(element, "y")
        pieces = list(self._pieces(element))
        long = sum(self.canvas.stringWidth(text, face, size) for text, face, size, _ in pieces)
        x -= {"middle": long / 2, "end": long}.get(self.said.get("text-anchor", "start"), 0.0)
        for text, face, size, colour in pieces:
            line = self.canvas.beginText()
            line.setTextTransform(1, 0, 0, -1, x, y)
            line.setFont(face, size)
            line.setFillColor(_colour(colour), alpha=self.opacity)
            line.textOut(text)
            self.canvas.drawText(line)
            x += self.canvas.stringWidth(text, face, size)

    def _pieces(self, element: ElementTree.Element) -> Iterator[tuple[str, str, float, str]]:
        """Text, face, size and colour of each piece."""
        for node, text in ((element, element.text), *((part, part.text) for part in element)):
            said = {**self.said, **node.attrib}
            family, weight = said.get("font-family", ""), said.get("font-weight", "")
            face = _FACES[2] if "monospace" in family else _FACES[1] if weight == "bold" else _FACES[0]
            if text:
                yield text, face, float(said["font-size"]), said["fill"]
            if node is not element and node.tail:
                said = dict(self.said)
                yield node.tail, _FACES[0], float(said["font-size"]), said["fill"]

    def _paint(self, path: PDFPathObject) -> None:
        canvas, said = self.canvas, self.said
        filled, stroked = said["fill"] != "none", said["stroke"] != "none"
        if filled:
            canvas.setFillColor(_colour(said["fill"]), alpha=self.opacity)
        if stroked:
            canvas.setStrokeColor(_colour(said["stroke"]), alpha=self.opacity)
            canvas.setLineWidth(float(said.get("stroke-width", "1")))
            canvas.setLineCap(_CAPS[said.get("stroke-linecap", "butt")])
            canvas.setLineJoin(_JOINS[said.get("stroke-linejoin", "miter")])
            if dashes := _numbers(said.get("stroke-dasharray", "")):
                canvas.setDash(dashes)
        canvas.drawPath(path, fill=int(filled), stroke=int(stroked))

    def _length(self, element: ElementTree.Element, name: str) -> float:
        return self._number(element.get(name, "0"), name)

    def _number(self, text: str, name: str) -> float:
        if not text.endswith("%"):
            return float(text)
        return float(text[:-1]) / 100 * (self.height if name in ("y", "cy", "height") else self.width)


def _colour(text: str) -> Any:
    from reportlab.lib.colors import HexColor

    return HexColor(text)


def _numbers(text: str) -> list[float]:
    return [float(each) for each in _TOKEN.findall(text)] if text != "none" else []


def _trace(path: PDFPathObject, d: str) -> None:
    """Lines and curves of path data; a small letter counts from where the pen is."""
    x = y = 0.0
    first = (0.0, 0.0)
    for command, numbers in _commands(d):
        word, aside = command.upper(), (x, y) if command.islower() else (0.0, 0.0)
        if word == "Z":
            path.close()
            x, y = first
            continue
        if word == "H":
            numbers = (numbers[0] + aside[0], y)
        elif word == "V":
            numbers = (x, numbers[0] + aside[1])
        else:
            numbers = tuple(each + aside[i % 2] for i, each in enumerate(numbers))
        x, y = numbers[-2:]
        if word == "M":
            path.moveTo(x, y)
            first = (x, y)
        elif word == "C":
            path.curveTo(*numbers)
        else:
            path.lineTo(x, y)


def _commands(d: str) -> Iterator[tuple[str, tuple[float, ...]]]:
    """Each command with its numbers; one that is repeated without its letter is given with it."""
    tokens = _TOKEN.findall(d)
    command, at = "", 0
    while at < len(tokens):
        if tokens[at].isalpha():
            command, at = tokens[at], at + 1
        count = _COUNTS[command.upper()]
        yield command, tuple(float(each) for each in tokens[at : at + count])
        at += count
        if command in "Mm":
            command = "L" if command == "M" else "l"
