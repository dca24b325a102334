"""The page of two ops side by side: its query, its controls, the differences in sentences, the diff of the sources.

Its route is in ``routes``; the query, the documents and the figure of each single op are in ``url``, ``documents`` and
``figure``.
"""
