"""Figures that need no server: a folder for any static host, and one file that works from a disk.

``figure`` measures the sections of a figure, ``files`` writes them as files, and ``site`` the pages around them.
"""
