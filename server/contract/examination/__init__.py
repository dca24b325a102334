"""What the checks share: one working call, the record of its first run, differences of forward, lines of the source.

The checks themselves are in ``contract.checks``.
"""
