"""The picture for print: a page of its size, whose lines are lines and whose words can be read and searched."""

from __future__ import annotations

from io import BytesIO

import pytest
from pypdf import PdfReader
from support import http
from support.scenes import MADE_UP, address, frame, made_up

from gradloupe.server.figure import print_svg
from gradloupe.server.png.pdf_document import render_pdf
from gradloupe.server.png.process import FACE_FILES


def printed(answer: object, *arguments: object, **dress: object) -> PdfReader:
    return PdfReader(BytesIO(render_pdf(print_svg(frame(answer), address(*arguments, **dress)), FACE_FILES)))


def test_it_is_a_page_of_the_size_of_the_picture_whose_words_are_text(server: str) -> None:
    answer = http.get(f"{server}/ops/clamp_with_grad.pdf?width=800&height=600")
    assert answer.headers["content-type"] == "application/pdf"
    assert len(answer.content) < 150_000
    found = PdfReader(BytesIO(answer.content))
    assert found.metadata is not None
    assert found.metadata.title == "Clamp with grad: differs by design"
    (page,) = found.pages
    assert [float(each) for each in page.mediabox[2:]] == [600, 450]
    words = page.extract_text()
    assert all(each in words for each in ("Clamp with grad", "Differs by design.", "grad of input", "Gradloupe"))
    assert not page.images


def test_its_fonts_are_in_it_as_far_as_they_are_needed() -> None:
    (page,) = printed(made_up()).pages
    fonts = {str(each.get_object()["/BaseFont"]) for each in page["/Resources"]["/Font"].values()}  # type: ignore[index]
    assert {name.partition("+")[2] for name in fonts if "+" in name} == {
        *("DejaVuSans", "DejaVuSans-Bold", "DejaVuSansMono"),
    }


def test_it_is_the_same_every_time() -> None:
    once, again = (render_pdf(print_svg(frame(made_up()), address()), FACE_FILES) for _ in range(2))
    assert once == again


@pytest.mark.parametrize("name", MADE_UP)
def test_what_cannot_be_drawn_is_left_out_of_print_too(name: str) -> None:
    assert len(printed(MADE_UP[name](), "overlaid", width=300).pages) == 1
