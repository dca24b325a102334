"""The same Function called in other ways than the one that is shown: shapes, constants, indices, strides, dtypes."""

from __future__ import annotations
