# Builds the image with podman or docker and tries it as compose runs it: no root, nothing written, no capabilities.
# BUILD_ARGS="--build-arg EXTRA_INDEX=…" goes to the build.
set -eu

works() { command -v "$1" >/dev/null && "$1" info >/dev/null 2>&1; }
for engine in podman docker; do if works "$engine"; then break; else engine=; fi; done
if [ -z "$engine" ]; then
  echo "To build the image, podman or docker must be installed, and its service be running." >&2
  exit 1
fi
image=gradloupe:tried name=gradloupe-tried-$$
format=$([ "$engine" = docker ] || echo "--format docker") # that of OCI has no health checks

# shellcheck disable=SC2086 - several words
"$engine" build $format ${BUILD_ARGS:-} -t "$image" .
"$engine" run -d --name "$name" --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges \
  --memory 3g --pids-limit 256 "$image" >/dev/null
trap '"$engine" rm -f "$name" >/dev/null' EXIT

healthy() { # as the HEALTHCHECK of the image has it, a word a line
  "$engine" inspect --format '{{range .Config.Healthcheck.Test}}{{println .}}{{end}}' "$name" | {
    while IFS= read -r word; do if [ -n "$word" ]; then set -- "$@" "$word"; fi; done
    shift
    "$engine" exec "$name" "$@" >/dev/null 2>&1 </dev/null
  }
}
for second in $(seq 120); do if healthy; then break; else sleep 1; fi; done
healthy || { "$engine" logs "$name" >&2; echo "It did not become healthy in 120 s." >&2; exit 1; }

python() { "$engine" exec "$name" python -I -c "$1"; }
python 'import json, os, urllib.request
with urllib.request.urlopen("http://127.0.0.1:8000/ops/exp.json") as answer:
    assert json.load(answer)["verdict"]["word"] == "matches"
assert os.getuid() == 10001
assert not os.access("/", os.W_OK)'
"$engine" stop -t 10 "$name" >/dev/null
code=$("$engine" inspect --format '{{.State.ExitCode}}' "$name")
size=$("$engine" inspect --type image --format '{{.Size}}' "$image")
echo "Built with $engine: $((size / 1000000)) MB, healthy after $second s, answers as nobody, ended with exit code $code."
exit "$code"
