"""An answer of the engine as JSON, CSV and compact JSON, and in words: the summary, the data table, number formatting.

Pictures of an answer are in ``figure``, HTML pages in ``html``; the schemas of the JSON are in ``schema``.
"""
