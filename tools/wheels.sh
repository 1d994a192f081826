# Shared by the scripts that bring a library from PyPI. Sourced, from bash.
# shellcheck shell=bash

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
# shellcheck source=tools/bootstrap.sh
source "$root/tools/bootstrap.sh"

# take_wheels NAME TAKE [FOLDER]: unpacks the packages that tools/NAME.txt pins,
# and calls TAKE PACKAGES FOLDER, which moves what is needed. FOLDER is build/NAME
# unless it is given; what came from the same list stays.
take_wheels() {
  local name="$1" take="$2" folder="${3:-$root/build/$1}"
  local list="$root/tools/$name.txt"
  cmp -s "$list" "$folder/$name.txt" && return 0
  install_packages "" wheels

  local parts
  parts="$(mktemp -d)"
  # shellcheck disable=SC2064  # the folder as it is called now
  trap "rm -rf '$parts'" EXIT
  # The hashes in the list are compared with what comes.
  /usr/bin/python3 -m pip download --quiet --no-deps --only-binary :all: \
    --require-hashes -r "$list" -d "$parts"
  local wheel
  for wheel in "$parts"/*.whl; do
    /usr/bin/python3 -m zipfile -e "$wheel" "$parts"
  done
  rm -rf "$folder"
  mkdir -p "$folder/lib"
  "$take" "$parts" "$folder"
  # It is written last: a folder without it is not whole.
  cp "$list" "$folder/"
}
