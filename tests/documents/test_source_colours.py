"""The colours of the source: those of the page's theme, else those of the system."""

import re

from support import http


def test_the_source_follows_the_theme_of_the_page_before_that_of_the_system(server: str) -> None:
    (address,) = set(re.findall(r'"(/static/[^"]+/pages/op\.css)"', http.get(f"{server}/ops/exp").text))
    rules = re.findall(r"(?<=[{}] )([^{}]*\.source (?:\.\w+|:is\([^)]*\))) \{", http.get(server + address).text)
    system, chosen = (
        [rule for rule in rules if rule.startswith(theme)]
        for theme in (":root:not([data-theme=light]) .source", ":root[data-theme=dark] .source")
    )
    light = [rule for rule in rules if rule.startswith(".source")]
    assert len(light) > 10
    assert len(system) == len(chosen) > 10
