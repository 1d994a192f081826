#!/usr/bin/env bash
# build.sh          installs what is missing, builds the command line into build/
# build.sh serve    and the server
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
# shellcheck source=tools/bootstrap.sh
source "$root/tools/bootstrap.sh"
if [[ "${1:-}" == serve ]]; then
  install_packages "" serve
  build "$root/build" "weft-cli weft-serve weft-replica" -DCMAKE_BUILD_TYPE=Release \
    -DWEFT_SERVE=ON
  cp -p "$root/build/.built" "$root/build/.built-serve"
else
  install_packages ""
  build "$root/build" weft-cli -DCMAKE_BUILD_TYPE=Release
fi
