"""How our own server is started: with the light plotly.js if that is installed, and without it."""

from __future__ import annotations

import sys

from gradloupe.server.html.assets import PLOTLY_BUNDLES, PLOTLY_BUNDLES_FOLDER

READY = "/healthz?wait=1"  # answers when torch is loaded
WITHOUT = (
    "import sys; from pathlib import Path; from gradloupe.server.html import assets;"
    "assets.PLOTLY_BUNDLES_FOLDER = Path('nowhere');"
    "from gradloupe.server.cli import main; main()"
)


def commands() -> dict[str, list[str]]:
    """By name how to start it; PORT stands for the port. The first is the one that is held to the targets."""
    full = {"ours, full plotly.js": [sys.executable, "-c", WITHOUT, "--port", "PORT"]}
    if not all((PLOTLY_BUNDLES_FOLDER / name).is_file() for name in PLOTLY_BUNDLES.values()):
        return full
    return {"**ours**": [sys.executable, "-m", "gradloupe", "--port", "PORT"]} | full
