"""Numerical differentiation: finite differences, Richardson extrapolation, noise estimation, quadrature."""
