"""Exercises: code to be mended, read from a file each in ``templates/exercises``, and when it is solved."""
