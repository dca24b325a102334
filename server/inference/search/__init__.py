"""Best-first search for a recipe that works: candidates, trial calls, blame for errors, and edits that mend them.

The static evidence that orders the candidates is in ``source``; the op made of the result is in ``construction``.
"""
