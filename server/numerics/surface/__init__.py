"""Two elements swept at once: forward over a plane, both partial derivatives, singular lines, and the curl test."""
