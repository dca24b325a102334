"""A capture: what passed through the Functions of a training step, as plain data in a file that is safe to load."""
