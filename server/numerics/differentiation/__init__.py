"""Numerical differentiation: finite differences, Richardson extrapolation, noise estimation, quadrature.

Each slope has an error bound. Whether a backward agrees with it is decided in ``verdict``, or ``whole_range``.
"""
