from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

# Not what is in frames, which are pages themselves, nor the insides of Swagger UI, which are not ours.
OURS = {"exclude": [["#api"]]}


def violations(page: Page, *rules: str) -> list[tuple[str, list[str]]]:
    """What axe finds, of all its rules or of these alone."""
    options: dict[str, Any] = {"iframes": False, "resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = rules
    found = Axe().run(page, context=OURS, options=options).response["violations"]
    return [(each["id"], [node["html"] for node in each["nodes"]]) for each in found]
