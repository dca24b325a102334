# Installs Chromium for the browser tests, unless one is there.
set -eu
if command -v chromium chromium-browser google-chrome >/dev/null 2>&1; then exit 0; fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  install() { apt-get install -y --no-install-recommends chromium; }
  install || { apt-get update && install; }
else
  playwright install chromium
fi
