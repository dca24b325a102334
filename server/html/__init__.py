"""HTML pages: the Jinja environment, the context of each template, static assets and the style sheets of each page.

The templates are in ``templates``, figures in ``figure``; HTTP itself is in ``http`` and ``routes``.
"""
