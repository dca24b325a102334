# Puts the editor together as one file, in the folder $1, and beside it the licences of all that is in it. Runs where npm has
# installed the packages of package.json, with these files beside them.
set -e
node_modules/.bin/esbuild editor.js --bundle --format=esm --minify --target=es2022 --legal-comments=none \
  --alias:style-mod=./style_mod.js --log-level=warning \
  --banner:js="/* CodeMirror and Lezer, (c) Marijn Haverbeke and others, MIT licence: editor.LICENSE */" \
  --outfile="$1/editor.min.js"
for licence in node_modules/@codemirror/*/LICENSE node_modules/@lezer/*/LICENSE node_modules/@marijn/*/LICENSE \
  node_modules/crelt/LICENSE node_modules/style-mod/LICENSE node_modules/w3c-keyname/LICENSE; do
  echo "${licence#node_modules/}"
  echo
  cat "$licence"
  echo
done >"$1/editor.LICENSE"
