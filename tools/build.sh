#!/usr/bin/env bash
# build.sh          installs what is missing, builds the command line into build/
# build.sh books    and the gate and the market
# build.sh serve    and the server, and replicas of a market over gRPC
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
# shellcheck source=tools/bootstrap.sh
source "$root/tools/bootstrap.sh"
part="${1:-}"
case "$part" in
  serve)
    install_packages "" serve
    build "$root/build" "weft-cli weft-serve" \
      -DCMAKE_BUILD_TYPE=Release -DWEFT_SERVE=ON
    ;;
  books)
    install_packages ""
    build "$root/build" "weft-cli weft-books" -DCMAKE_BUILD_TYPE=Release
    ;;
  *)
    install_packages ""
    build "$root/build" weft-cli -DCMAKE_BUILD_TYPE=Release
    ;;
esac
[[ -z "$part" ]] || cp -p "$root/build/.built" "$root/build/.built-$part"
