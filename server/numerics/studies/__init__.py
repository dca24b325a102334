"""Studies of one section beside its verdict: dtypes, complex numbers, step sizes, other values of grad_output.

None of them changes the verdict (`verdict`) or says why backward differs (`diagnosis`).
"""
