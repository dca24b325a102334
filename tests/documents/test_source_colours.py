"""The colours of the source: those of the page's theme, else those of the system."""

from gradloupe.server.html.op_markup import highlight_style_sheet


def test_the_source_follows_the_theme_of_the_page_before_that_of_the_system() -> None:
    light, system, chosen = (each.splitlines() for each in _parts(highlight_style_sheet().decode()))
    assert all(rule.startswith(".source") for rule in light)
    assert all(rule.startswith(":root:not([data-theme=light]) .source") for rule in system)
    assert all(rule.startswith(":root[data-theme=dark] .source") for rule in chosen)
    assert len(system) == len(chosen) > 10


def _parts(sheet: str) -> tuple[str, str, str]:
    light, _, rest = sheet.partition("\n@media (prefers-color-scheme: dark) {\n")
    system, _, chosen = rest.partition("\n}\n")
    return light, system, chosen
