"""Gradloupe, a loupe for gradients: see what a custom ``torch.autograd.Function`` computes."""

__version__ = "0.1.0"
