"""Gradient descent through the Function, with what backward returns and with the true derivative of forward."""
