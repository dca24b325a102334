"""Two elements swept at once: forward and its gradients over a plane, and whether what backward returned is one."""
