"""Our scripts as esbuild makes them smaller, each under a digest of its text: an earlier one is never served, and where
there is none a page loads the text that everybody can read.

``python -m gradloupe.server.html.minified_scripts ESBUILD`` writes them all, with the program at that path.
"""

import subprocess
import sys
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory

from .assets import MINIFIED_FOLDER, Assets, bundle, classic_bundle, minified_name

_OPTIONS = ("--minify", "--target=es2022", "--charset=utf8", "--log-level=warning")


def minify_scripts(esbuild: str) -> None:
    """Write every script of a page and of a published figure minified, and nothing else, to their folder.

    Raises ``CalledProcessError`` where the program fails.
    """
    names = Assets.shared().scripts
    texts = [bundle(name) for name in names]
    texts += [classic_bundle(name) for name in names if name.startswith("js/published/")]
    rmtree(MINIFIED_FOLDER, ignore_errors=True)
    with TemporaryDirectory() as folder:
        files = [Path(folder, minified_name(text)) for text in texts]
        for file, text in zip(files, texts, strict=True):
            file.write_text(text, "utf-8")
        subprocess.run([esbuild, *_OPTIONS, f"--outdir={MINIFIED_FOLDER}", *files], check=True)  # noqa: S603 - ours


if __name__ == "__main__":
    minify_scripts(*sys.argv[1:])
