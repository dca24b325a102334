"""The tags of a piece of HTML."""

from html.parser import HTMLParser

VOID = ("img", "link", "meta")


class Tags(HTMLParser):
    """The tags of a piece of HTML with their attributes; all that are opened are closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        assert self.open == [], text

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs)
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def only(self, tag: str) -> dict[str, str | None]:
        (attributes,) = (attributes for each, attributes in self.found if each == tag)
        return attributes
