"""The Jacobian of an output by an input: numerical cells, the status of each, sparsity, dependences between tensors.

The finite differences themselves are in `differentiation`, the stacked calls in `runtime.stacked_inputs`.
"""
