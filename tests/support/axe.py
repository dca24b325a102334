from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

# Not what is in frames, which are pages themselves, nor the insides of Swagger UI, which are not ours.
OURS = {"exclude": [["#api"]]}
# Not what it would fetch anew to judge sound and turned screens, and of the answer what is shown where a test is red.
RUN = """([context, rules]) => axe.run(context, {iframes: false, preload: false, resultTypes: ["violations"],
...(rules.length > 0 && {runOnly: rules})})
.then(({violations}) => violations.map(({id, nodes}) => [id, nodes.map(({html}) => html)]))"""


def violations(page: Page, *rules: str) -> list[Any]:
    """What axe finds, of all its rules or of these alone: the rule, and the elements."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found: list[Any] = page.evaluate(RUN, [OURS, rules])
    return found
