"""The server, one package a responsibility; ``[tool.importlinter]`` in pyproject.toml says which may import which."""
