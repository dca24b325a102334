from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

# Not the insides of Swagger UI, which are not ours, and of rows, lines and cards that are all alike the first alone.
OURS = {"exclude": [["#api"], ["tbody tr:nth-child(n+5)"], [".source .line:nth-child(n+9)"], [".card:nth-child(n+4)"]]}
# Not what is in frames, which are pages themselves, nor what it would fetch anew to judge sound and turned screens.
RUN = """([context, rules]) => axe.run(context, {iframes: false, preload: false, resultTypes: ["violations"],
...(rules.length > 0 && {runOnly: rules})})
.then(({violations}) => violations.map(({id, nodes}) => [id, nodes.map(({html}) => html)]))"""


def violations(page: Page, *rules: str) -> list[Any]:
    """What axe finds, of all its rules or of these alone: the rule, and the elements."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found: list[Any] = page.evaluate(RUN, [OURS, rules])
    return found
