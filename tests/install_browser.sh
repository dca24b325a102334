# Installs what the browser tests need, unless it is there: Chromium, and fonts of the widths that most machines have.
# The headless shell of Chromium has the same engine without the window, and takes two thirds of the time for a page.
set -eu
browser() {
  for name in chromium-headless-shell chromium chromium-browser google-chrome; do
    if command -v $name >/dev/null; then return 0; fi
  done
  return 1
}
fonts() { fc-list 2>/dev/null | grep -qi liberation; }
if browser && fonts; then exit 0; fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  install() { apt-get install -y --no-install-recommends "$@"; }
  fonts || install fonts-liberation || { apt-get update && install fonts-liberation; }
  browser || install chromium-headless-shell || { apt-get update && install chromium-headless-shell; } || install chromium
elif ! browser; then
  playwright install chromium
fi
