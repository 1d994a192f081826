#!/usr/bin/env bash
# Puts HiGHS into build/highs, or into the given folder: linear and integer
# programs (weft/base/libraries/integer_program.h) look for it there.
#   tools/highs.sh [FOLDER]
set -euo pipefail
# shellcheck source=tools/wheels.sh
source "$(dirname "${BASH_SOURCE[0]}")/wheels.sh"

take_highs() {
  local highs=("$1"/*.data/purelib/highsbox/highs_dist)
  mv "${highs[0]}/lib/libhighs.so" "$2/lib/"
  mv "${highs[0]}/share/doc/HIGHS/LICENSE.txt" "$2/"
}

take_wheels highs take_highs "$@"
