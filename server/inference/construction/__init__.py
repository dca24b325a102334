"""From a Function and a working recipe to an ``Op``: swept element, domain, parameter bounds, names.

The recipe itself is found in ``search``.
"""
