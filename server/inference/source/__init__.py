"""Static analysis: reads the source of a Function for evidence on the type, shape and range of each argument.

Nothing is called here; candidates are tried in ``search``.
"""
