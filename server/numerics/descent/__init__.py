"""The consequence of a backward: gradient descent through the Function, and the same with the true derivative."""
