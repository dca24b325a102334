"""Why backward differs: hypotheses, from the simplest to the most contrived, of which the first that fits is reported.

Whether it differs is decided in `verdict`; the hypotheses about a whole Jacobian are in `jacobian.diagnosis`.
"""
