"""The linearity check: whether backward is linear in ``grad_output``, as every vector-Jacobian product is.

Whether it is the right linear map is decided in ``verdict``.
"""
