"""The checks of the contract: each module holds those for one part of a Function, as a tuple.

They are put in order and run in ``contract.check_order``; what they share is in ``contract.examination``.
"""
