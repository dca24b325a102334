"""An answer of the engine as JSON, CSV and compact JSON, and in words: the summary, the data table, number formatting.

Pictures of an answer are in ``figure``, HTML pages in ``html``; the schemas of the JSON are in ``schema``.
"""

from .json_document import json_document
from .pytest_file import pytest_source
from .text_alternative import data_table, kink_table, method_paragraph, summary_sentences

__all__ = ["data_table", "json_document", "kink_table", "method_paragraph", "pytest_source", "summary_sentences"]
