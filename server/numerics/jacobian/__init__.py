"""The Jacobian of an output by an input: numerical cells, the status of each, sparsity, dependences between tensors."""
