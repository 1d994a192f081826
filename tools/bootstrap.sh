# shellcheck shell=bash disable=SC2154
# Shared by tools/build.sh and ./test: installs what is missing, builds what has
# changed. Sourced, from bash, with `root` set to the source folder.

# The packages of tools/packages.txt in the given section ("" is the first).
packages_of() {
  local section=""
  local line
  while IFS= read -r line; do
    line="${line%%#*}"
    line="${line//[[:space:]]/}"
    case "$line" in
      "") ;;
      \[*\]) section="${line:1:-1}" ;;
      *) [[ "$section" == "$1" ]] && echo "$line" ;;
    esac
  done < "$root/tools/packages.txt"
  return 0
}

# Installs the missing packages of all given sections, or says how and stops.
install_packages() {
  command -v dpkg-query > /dev/null || return 0  # not Debian: CMake will tell
  local wanted=() missing=() section package
  for section in "$@"; do
    while IFS= read -r package; do
      wanted+=("$package")
    done < <(packages_of "$section")
  done
  # It fails where one of them was never installed.
  local installed
  installed="$({ dpkg-query -W -f='${Package} ${db:Status-Status}\n' \
    "${wanted[@]}" 2> /dev/null || true; } | sed -n 's/ installed$//p')"
  for package in "${wanted[@]}"; do
    grep -qx -- "$package" <<< "$installed" || missing+=("$package")
  done
  ((${#missing[@]} == 0)) && return 0

  local sudo=()
  ((EUID == 0)) || sudo=(sudo)
  local by_hand="${sudo[*]:+${sudo[*]} }apt-get install ${missing[*]}"
  echo "weft: installing ${missing[*]}" >&2
  if ((EUID != 0)) && ! command -v sudo > /dev/null; then
    refuse "$by_hand" "this needs root, and there is no sudo"
  fi
  if [[ ! -t 0 ]] && ((EUID != 0)) && ! sudo -n true 2> /dev/null; then
    refuse "$by_hand" "sudo asks for a password, and there is no terminal"
  fi
  export DEBIAN_FRONTEND=noninteractive
  "${sudo[@]}" apt-get install -y --no-install-recommends "${missing[@]}" \
    >&2 2> /dev/null && return 0
  # Perhaps the list of packages is old.
  "${sudo[@]}" apt-get update >&2 &&
    "${sudo[@]}" apt-get install -y --no-install-recommends \
      "${missing[@]}" >&2 && return 0
  refuse "$by_hand" "apt could not install them (is there a network?)"
}

refuse() {
  printf 'weft: some packages are missing: %s\n' "$2" >&2
  printf '  install them by hand, then try again:\n    %s\n' "$1" >&2
  exit 2
}

# build FOLDER TARGETS [CMake options…]: configures, builds what has changed.
# One builder at a time per folder.
build() {
  local folder="$1" targets="$2"
  shift 2
  mkdir -p "$folder"
  exec 9> "$folder/.lock"
  flock 9
  local started
  started="$(mktemp "$folder/.started.XXXXXX")"
  [[ -f "$folder/build.ninja" ]] || echo "weft: building (once)" >&2
  if ! { cmake -S "$root" -B "$folder" -G Ninja "$@" > "$folder/configure.log" \
           2>&1 || { cat "$folder/configure.log" >&2; false; }; }; then
    rm -f "$started"
    echo "weft: configuring failed; see $folder/configure.log" >&2
    exit 1
  fi
  # shellcheck disable=SC2086  # several targets
  if ! ninja -C "$folder" $targets >&2; then
    rm -f "$started"
    echo "weft: the build failed" >&2
    exit 1
  fi
  # The file is as old as the moment before the build: what changed meanwhile is
  # stale.
  mv "$started" "$folder/.built"
  exec 9>&-
}
