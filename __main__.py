"""``python -m gradloupe``: the command line of ``server/cli.py``."""

from .server.cli import main

if __name__ == "__main__":
    main()
