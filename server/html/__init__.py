"""HTML pages: the Jinja environment, the context of each template, static assets and the style sheets of each page.

The templates are in ``templates``, figures in ``figure``; HTTP itself is in ``http`` and ``routes``.
"""

from ..numbered_files import word_count
from .assets import PLOTLY_BUNDLES, PLOTLY_BUNDLES_FOLDER, Assets, bundle
from .lessons import WORD_BOUNDS, BadLesson, all_lessons, read_lesson
from .pages import Pages
from .search import ranked

__all__ = [
    "PLOTLY_BUNDLES",
    "PLOTLY_BUNDLES_FOLDER",
    "WORD_BOUNDS",
    "Assets",
    "BadLesson",
    "Pages",
    "all_lessons",
    "bundle",
    "ranked",
    "read_lesson",
    "word_count",
]
