#!/usr/bin/env bash
# Installs what is missing and builds the command line into build/.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
# shellcheck source=tools/bootstrap.sh
source "$root/tools/bootstrap.sh"
install_packages ""
build "$root/build" weft-cli -DCMAKE_BUILD_TYPE=Release
