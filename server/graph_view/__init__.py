"""The node, opened: the graph around one call, what ctx holds, what arrived at backward and what left."""
