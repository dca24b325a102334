"""The types of what is sent as JSON: what is known of an op, and the answer of each view with its columns.

The records are dictionaries, also at run time: they are written to JSON and read from it without a conversion. The
description of the API is generated from them, and so are an answer without results and the names of the columns. The
records that the numerics work with are in ``numerics``, under the same names without ``Record``.
"""
