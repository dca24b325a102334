"""The picture of a section, drawn on the server: inside a page, on a sheet of its own, and in pixels."""

from .png import png
from .still import still
from .svg import svg

__all__ = ["png", "still", "svg"]
