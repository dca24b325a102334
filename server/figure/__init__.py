"""The picture of a section, drawn on the server: inside a page, on a sheet of its own, and in pixels."""

from .inline_svg import shared, still
from .png import SIZE as PREVIEW
from .png import png, preview
from .sheet_svg import SIZE, svg

__all__ = ["PREVIEW", "SIZE", "png", "preview", "shared", "still", "svg"]
