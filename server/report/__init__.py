"""The reports of ``--check`` and ``--save-html``: every Function is examined, summarized and written in some format.

Answers come from ``supervisor.engine``; the live pages are in ``routes`` and ``html``.
"""
