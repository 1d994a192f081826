#!/usr/bin/env bash
# Puts HiGHS into build/highs, or into the given folder: linear and integer
# programs (weft/base/libraries/integer_program.h) look for it there.
#   tools/highs.sh [FOLDER]
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
# shellcheck source=tools/bootstrap.sh
source "$root/tools/bootstrap.sh"
folder="${1:-$root/build/highs}"
# What came from the same list stays.
[[ -f "$folder/lib/libhighs.so" ]] &&
  cmp -s "$root/tools/highs.txt" "$folder/highs.txt" && exit 0
install_packages "" highs

parts="$(mktemp -d)"
trap 'rm -rf "$parts"' EXIT
# The hashes in the list are compared with what comes.
/usr/bin/python3 -m pip download --quiet --no-deps --only-binary :all: \
  --require-hashes -r "$root/tools/highs.txt" -d "$parts"
for wheel in "$parts"/*.whl; do
  /usr/bin/python3 -m zipfile -e "$wheel" "$parts"
done
rm -rf "$folder"
mkdir -p "$folder/lib"
mv "$parts"/*.data/purelib/highsbox/highs_dist/lib/libhighs.so "$folder/lib/"
mv "$parts"/*.data/purelib/highsbox/highs_dist/share/doc/HIGHS/LICENSE.txt "$folder/"
cp "$root/tools/highs.txt" "$folder/"
