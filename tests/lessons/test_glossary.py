"""The glossary: every term has a definition and a figure that can be drawn, and leads there where it stands first."""

import re
from html import unescape
from pathlib import Path

from support import http
from support.own_server import MY_OPS, showing

TERMS = {
    *("surrogate", "kink", "jump", "subgradient", "implied_forward", "grad_output", "grad_input", "cotangent", "vjp"),
    *("straight_through", "claim", "numerical_gradient", "error_bound", "gradcheck", "dead_zone", "contract"),
    *("jacobian", "saved_tensors", "second_order", "proof"),
}


def test_every_term_has_a_short_definition_and_a_figure(server: str) -> None:
    page = http.get(f"{server}/glossary", headers={"accept": "text/html"}).text
    names = re.findall(r'<section id="(\w+)" aria-labelledby="term-', page)
    definitions = re.findall(r"</h2>\s*<p>(.*?)</p>", page, re.DOTALL)
    assert set(names) >= TERMS
    pictures = re.findall(r'<img src="([^"]+)"', page)
    assert len(pictures) == len(definitions) == len(names)
    for definition, picture in zip(definitions, pictures, strict=True):
        assert 5 <= len(re.sub("<[^>]*>", "", definition).split()) <= 45
        assert http.get(server + unescape(picture)).status_code == 200, picture


def test_a_term_leads_to_its_entry_where_it_stands_first_unless_it_is_code(tmp_path: Path) -> None:
    told = "A corner of `kink()` is a kink. At a kink, `kink` stays code, and two kinks have one `grad_output`."
    with showing(tmp_path, text=MY_OPS.replace("Between its bounds gradient passes.", told)) as own:
        page = own.get("/ops/Clamp").text
    term = '<a class="term" href="/glossary#{0}" target="_blank" rel="noopener">{1}</a>'
    kink, sent = term.format("kink", "kink"), term.format("grad_output", "<code>grad_output</code>")
    stays = "At a kink, <code>kink</code> stays code, and two kinks have one"
    assert f"<p>A corner of <code>kink()</code> is a {kink}. {stays} {sent}.</p>" in page
