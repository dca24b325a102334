# Installs nginx for its tests, unless it is there.
set -eu
PATH="$PATH:/usr/sbin:/usr/local/sbin"
if command -v nginx >/dev/null; then exit 0; fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  install() { apt-get install -y --no-install-recommends nginx-light; }
  install || { apt-get update && install; }
elif command -v brew >/dev/null; then
  brew install nginx
else
  echo "The tests need nginx: install it with the package manager of this system." >&2
  exit 1
fi
