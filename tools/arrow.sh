#!/usr/bin/env bash
# Puts Apache Arrow into build/arrow, or into the given folder. A build that finds
# it there makes libweft_arrow.so, by which Parquet is read (weft/data/arrow).
#   tools/arrow.sh [FOLDER]
set -euo pipefail
# shellcheck source=tools/wheels.sh
source "$(dirname "${BASH_SOURCE[0]}")/wheels.sh"

take_arrow() {
  local name
  mv "$1/pyarrow/include" "$2/include"
  mv "$1"/pyarrow-*.dist-info/licenses "$2/licenses"
  for name in arrow parquet; do
    mv "$1/pyarrow/lib$name.so".* "$2/lib/"
    # Linkers look for the name without a version.
    (cd "$2/lib" && ln -s "lib$name.so".* "lib$name.so")
  done
}

take_wheels arrow take_arrow "$@"
