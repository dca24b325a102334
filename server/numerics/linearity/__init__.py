"""The linearity check: whether backward is linear in ``grad_output``, as every vector-Jacobian product is."""
