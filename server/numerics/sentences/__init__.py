"""The verdict on a section in words, and the words for places, intervals and ranges that other texts share.

Nothing is measured or judged here. How numbers are written is in `formatting`; each view has a `text.py` of its own.
"""
