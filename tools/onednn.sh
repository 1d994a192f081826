#!/usr/bin/env bash
# Puts oneDNN 3.2 into build/onednn, for a build beside the usual one:
#   tools/onednn.sh
#   cmake -S . -B build-onednn3 -G Ninja -DWEFT_ONEDNN=build/onednn
# The usual one takes Debian's 2.6.3: docs/results/onednn.md has both measured.
set -euo pipefail
# shellcheck source=tools/wheels.sh
source "$(dirname "${BASH_SOURCE[0]}")/wheels.sh"

take_onednn() {
  mv "$1"/*.data/data/include "$2/include"
  mv "$1"/*.data/data/lib/libdnnl.so.3 "$2/lib/"
  ln -s libdnnl.so.3 "$2/lib/libdnnl.so"
}

take_wheels onednn take_onednn
echo "$root/build/onednn"
