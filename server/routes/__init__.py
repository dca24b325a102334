"""The addresses of the server: one module of FastAPI routes for each group of them.

Middleware, error handlers and responses are in ``http``; pages, pictures and tables are made in ``html``, ``figure``
and ``documents``.
"""
