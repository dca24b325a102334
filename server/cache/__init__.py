"""Caches of the engine's answers and of thumbnails, keyed by the digest of the code.

Encoded response bodies are cached in ``http.responses``.
"""

from .answer_cache import AnswerCache
from .thumbnails import ThumbnailCache
from .visitor import Visitor

__all__ = ["AnswerCache", "ThumbnailCache", "Visitor"]
