"""Gradient descent through the Function, once with what backward returns and once with the true derivative of forward.

No verdict comes from here: it shows the consequence of a backward that `verdict` has judged.
"""
