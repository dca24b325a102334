"""Command-line options and environment variables, read into ``Settings``; and the targets of a command line.

What they change is in ``cli``, ``app`` and the packages these hand them to.
"""
