"""The check over the whole range of the dtype: backward against forward at all magnitudes, not only where one looks."""
