#!/usr/bin/env bash
# Puts oneDNN 3.2 into build/onednn, for a build beside the usual one:
#   tools/onednn.sh
#   cmake -S . -B build-onednn3 -G Ninja -DWEFT_ONEDNN=build/onednn
# The usual one takes Debian's 2.6.3: docs/results/onednn.md has both measured.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
# shellcheck source=tools/bootstrap.sh
source "$root/tools/bootstrap.sh"
install_packages "" onednn

folder="$root/build/onednn"
parts="$(mktemp -d)"
trap 'rm -rf "$parts"' EXIT
# The hashes in the list are compared with what comes.
/usr/bin/python3 -m pip download --quiet --no-deps --only-binary :all: \
  --require-hashes -r "$root/tools/onednn.txt" -d "$parts"
for wheel in "$parts"/*.whl; do
  /usr/bin/python3 -m zipfile -e "$wheel" "$parts"
done
rm -rf "$folder"
mkdir -p "$folder/lib"
mv "$parts"/*.data/data/include "$folder/include"
mv "$parts"/*.data/data/lib/libdnnl.so.3 "$folder/lib/"
ln -s libdnnl.so.3 "$folder/lib/libdnnl.so"
echo "$folder"
