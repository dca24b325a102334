"""Caches of the engine's answers and of thumbnails, keyed by the digest of the code.

Encoded response bodies are cached in ``http.responses``.
"""
