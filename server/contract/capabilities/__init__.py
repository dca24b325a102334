"""Capability badges: whether a Function works with vmap, forward mode, torch.func.grad, torch.compile, autocast,
complex numbers and half precision.

The rules of autograd itself are checked in ``contract.checks``.
"""
