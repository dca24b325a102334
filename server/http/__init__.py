"""HTTP plumbing: ASGI middleware, responses and their cache, error handlers, access log, metrics, OpenAPI description.

The addresses are in ``routes``, the pages in ``html``.
"""
