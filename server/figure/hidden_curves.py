"""What a figure leaves out of an answer, so that its readers can predict what is measured before they look."""

from array import array
from collections.abc import Collection
from dataclasses import replace

from ..protocol.answer import CurvesAnswer
from ..schema.section import JumpRecord, KinkRecord

_MEASURED = ("numerical", "error", "left", "right")  # columns


def without_hidden(answer: CurvesAnswer, hide: Collection[str]) -> CurvesAnswer:
    """The answer without what ``hide`` names: the numerical gradient, the implied curve, the intervals that are shaded.

    Without the numerical gradient nothing in its columns, marks and statuses tells what it was.
    """
    header, columns = answer.header.copy(), dict(answer.columns)
    header["verdict"] = header["verdict"].copy()
    if "implied" in hide:
        columns.pop("implied", None)
    if "shading" in hide:
        header["verdict"]["intervals"] = []
    if "numerical" in hide and columns:
        count = len(columns["x"])
        columns |= {name: memoryview(array("d", [float("nan")]) * count) for name in _MEASURED}
        columns["status"] = memoryview(bytes([header["statuses"].index("gap")]) * count)
        columns.pop("surrogate_numerical", None)
        header["marks"] = [_without_slopes(mark) for mark in header["marks"]]
        header["numerical"] = header["verdict"]["worst"] = None
    return replace(answer, header=header, columns=columns)


def _without_slopes(mark: KinkRecord | JumpRecord) -> KinkRecord | JumpRecord:
    if mark["kind"] == "kink" or mark["kind"] == "cusp":
        return {**mark, "left": None, "right": None}
    return mark
