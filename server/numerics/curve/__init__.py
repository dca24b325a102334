"""The pipeline of one section: forward, what backward returns, the numerical gradient and the integral check.

Nothing is judged here: that is `verdict`. The rules for finite differences and singularities lie below, in
`differentiation` and `singularities`.
"""
