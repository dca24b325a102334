"""Figures that need no server: a folder for any static host, and one file that works from a disk.

``figure`` measures the sections of a figure and makes its files, ``site`` plans the pages around them.
"""
