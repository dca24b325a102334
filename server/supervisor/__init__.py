"""The server's side of the worker processes: starts, supervises and replaces them, and asks questions (``Engine``).

What runs inside a worker is in ``worker``, what both sides know in ``protocol``.
"""
