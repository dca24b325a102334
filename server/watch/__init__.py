"""The Python API ``gradloupe.watch``: what passes through every custom Function of a training step, and its harm."""
