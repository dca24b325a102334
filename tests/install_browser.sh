# Installs what the browser tests need, unless it is there: Chromium, and fonts of the widths that most machines have.
set -eu
missing=""
command -v chromium chromium-browser google-chrome >/dev/null 2>&1 || missing="chromium"
fc-list 2>/dev/null | grep -qi liberation || missing="$missing fonts-liberation"
if [ -z "$missing" ]; then exit 0; fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  install() { apt-get install -y --no-install-recommends $missing; }
  install || { apt-get update && install; }
elif [ "${missing#chromium}" != "$missing" ]; then
  playwright install chromium
fi
