"""Numerical differentiation: finite differences, Richardson extrapolation, noise estimation, quadrature.

What contradicts a backward is confirmed here, too, on the smallest scale on which forward is straight.
"""
