"""Two elements swept at once: forward over a plane, both partial derivatives, singular lines, and the curl test.

How a plane is evaluated is in `runtime.plane`; sections of a single element are in `curve`.
"""
