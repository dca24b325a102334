"""The second derivative: backward as a function of its input, the verdict in words, and torch's gradgradcheck.

It is measured and judged by the same code as a first derivative, in `curve` and `verdict`.
"""
