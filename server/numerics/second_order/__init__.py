"""The loupe put on backward: what it returns as the function, and autograd's derivative of that as the gradient."""
