"""The glossary: every term has a definition and a figure that can be drawn."""

from __future__ import annotations

import re
from html import unescape

import pytest
from support import http

from gradloupe.server.html.glossary import BadGlossary, glossary_entries, read_glossary, termed, unlinked
from gradloupe.server.html.op_markup import prose

TERMS = {
    *("surrogate", "kink", "jump", "subgradient", "implied_forward", "grad_output", "grad_input", "cotangent", "vjp"),
    *("straight_through", "claim", "numerical_gradient", "error_bound", "gradcheck", "dead_zone", "contract"),
    *("jacobian", "saved_tensors", "second_order"),
}


def test_every_term_has_a_short_definition_and_a_figure(server: str) -> None:
    page = http.get(f"{server}/glossary", headers={"accept": "text/html"}).text
    assert {entry.name for entry in glossary_entries()} >= TERMS
    pictures = re.findall(r'<img src="([^"]+)"', page)
    assert len(pictures) == len(glossary_entries())
    for entry, picture in zip(glossary_entries(), pictures, strict=True):
        assert f'id="{entry.name}"' in page
        assert 5 <= len(entry.definition.split()) <= 45
        assert http.get(server + unescape(picture)).status_code == 200, picture


def test_a_term_leads_to_its_entry_where_it_stands_first() -> None:
    text = prose("Such a corner is called a kink. At a kink, `kink` stays code.")
    link = '<a class="term" href="/glossary#kink" target="_blank" rel="noopener">kink</a>'
    assert termed(text) == f"<p>Such a corner is called a {link}. At a kink, <code>kink</code> stays code.</p>"


def test_a_term_in_a_link_or_written_as_other_code_stays_as_it_is() -> None:
    text = '<p><a href="/x">a kink</a> of <code>kink()</code> at <code>grad_output</code>, two kinks</p>'
    found = termed(text)
    assert unlinked(found) == text
    assert found.count('class="term"') == 2
    assert 'rel="noopener"><code>grad_output</code></a>, two <a ' in found


@pytest.mark.parametrize("content", ['[kink]\nterm = "Kink"', '[kink]\nterm = "a"\ndefinition = "b"\naddress = "/x"'])
def test_a_malformed_entry_is_refused_by_name(content: str) -> None:
    with pytest.raises(BadGlossary, match="kink"):
        read_glossary(content)
