"""Numerical differentiation and the verdict on a backward: measuring, judging, phrasing, explaining, in this order.

Calling a Function is the task of ``runtime``; autograd's other rules are checked in ``contract``. No HTTP in here.
"""
