"""A whole Jacobian: what differences of forward say of every cell, and what backward returns there."""
