"""Rasterization of SVG to PNG in a child process, and the client of that process.

What the pictures show is in ``figure``. This file is empty of imports, so that the process loads nothing else.
"""
