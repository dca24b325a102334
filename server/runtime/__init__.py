"""Calling a Function: arguments, sections and planes, batching, vector-Jacobian products, isolation, time limits, RNG.

What the numbers mean is decided in ``numerics``, ``contract`` and ``inference``; HTTP is not known here.
"""
