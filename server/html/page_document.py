"""What a page is drawn from: an answer at the precision that can be seen, its scene, and what the cursor reads."""

from ..documents.json_document import compact_document, exact_document
from ..documents.text_alternative import reading_words
from ..figure.axis_range import AxisRanges
from ..figure.scene import scene_document
from ..protocol.answer import CurvesAnswer
from ..schema.page import DrawnRecord


def page_document(answer: CurvesAnswer, address: str, held: AxisRanges | None = None) -> DrawnRecord:
    """The document of ``answer``, to be dumped by orjson; ``held`` are y-axes that its figure shares with another."""
    scene = scene_document(answer, held)
    readings = reading_words(exact_document(answer, address))
    return {**compact_document(answer, address), "scene": scene, "readings": readings}
