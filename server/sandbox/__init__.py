"""Runs code that was edited in a page: in a guest process without files, network or other processes.

Numbers leave the guest, and nothing else: whatever is judged of them is judged outside, by code that it cannot reach.
"""
