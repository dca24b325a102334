"""The extension of Sphinx, which is imported as ``gradloupe.sphinx``."""
