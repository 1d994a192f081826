# shellcheck shell=bash disable=SC2154
# What ./test --all adds. Sourced by ./test.

fuzz_seconds="${WEFT_FUZZ_SECONDS:-60}"

# Kernels and the plan run under sanitizers too; the end-to-end runs of the
# command line, which start processes of their own, do not.
sanitized() {  # FOLDER SANITIZERS LABELS, that are left out
  local folder="$1" sanitizers="$2" left_out="$3"
  # As little optimization as keeps the kernels bearable, and of what debuggers
  # know the lines alone, which is what a finding names.
  build "$folder" all -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g1" -DWEFT_TESTS=ON \
    -DWEFT_SHARED=ON -DWEFT_SERVE=ON \
    "-DWEFT_SANITIZE=$sanitizers"
  run_tests "$folder" -LE "$left_out"
}

# Every parser's fuzzer, each for a fixed time; new findings stay in the
# build folder.
fuzz() {
  local folder="$root/build-fuzz" names=() name source
  for source in "$root"/tests/fuzz/*_fuzz.cpp; do
    name="$(basename "$source" _fuzz.cpp)"
    names+=("$name")
  done
  # clang 16 crashes on sources of kernels that are joined.
  build "$folder" "${names[*]/#/weft_fuzz_}" -DWEFT_FUZZ=ON -DWEFT_JOIN=OFF \
    -DWEFT_SHARED=ON -DWEFT_SERVE=ON \
    -DCMAKE_CXX_COMPILER=clang++-16 -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    "-DWEFT_SANITIZE=address;undefined;fuzzer-no-link"
  for name in "${names[@]}"; do
    mkdir -p "$folder/findings/$name"
    step "fuzz $name, $fuzz_seconds s" "$folder/bin/weft_fuzz_$name" \
      -max_total_time="$fuzz_seconds" -timeout=10 -rss_limit_mb=2048 \
      -malloc_limit_mb=256 -verbosity=0 \
      -artifact_prefix="$folder/findings/$name/" \
      "$folder/findings/$name" "$root/tests/fuzz/corpus/$name"
  done
}

sources() { git -C "$root" ls-files -- '*.h' '*.cpp'; }

format_is_right() {
  sources | xargs clang-format --dry-run --Werror
}

# The sources that a build folder has commands for.
built_in() {
  sed -n 's/^ *"file": "\(.*\)",*$/\1/p' "$1/compile_commands.json"
}

# A clang-tidy that, other than Debian's, spends no time on headers of the system,
# where most of it went. clang reads no headers that GCC has precompiled, so that it
# has commands of its own; they also name the sources of our example of an extension.
# It reads each source by itself, so that a missing #include shows, which joined
# sources and precompiled headers hide. What protoc generates is all that is built
# for it, and omp.h is GCC's. Sources that are not built here, as those for other
# processors, have no commands to be read by.
lint() {
  local folder="$root/build-lint" place="$root/build/clang-tidy"
  /usr/bin/python3 -m venv "$place" &&
    "$place/bin/pip" install -q clang-tidy==23.1.4 &&
    cmake -S "$root" -B "$folder" -G Ninja -DWEFT_TESTS=ON -DWEFT_PYTHON=ON \
      -DWEFT_SHARED=ON -DWEFT_SERVE=ON \
      "-DWEFT_EXTENSIONS=$root/examples/extension" \
      -DPython3_EXECUTABLE=/usr/bin/python3 -DWEFT_JOIN=OFF \
      -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON > /dev/null &&
    ninja -C "$folder" weft_open_inference weft_market_exchange > /dev/null &&
    sources | grep '\.cpp$' | grep -v '^tests/fuzz/' | grep -v '^bench/' |
    sed "s|^|$root/|" | grep -Fxf <(built_in "$folder") |
    xargs -P"$(nproc)" -n4 "$place/bin/clang-tidy" --quiet -p "$folder" \
      "--extra-arg=-idirafter$(c++ -print-file-name=include)" 2> /dev/null
}

stubs_are_right() {
  MYPYPATH="$root/python" mypy --strict --cache-dir=/dev/null \
    --python-executable /usr/bin/python3 tests/python/typed_example.py
}

# The reference of the headers, where Doxygen must not warn.
reference_is_right() { doxygen docs/Doxyfile > /dev/null; }

# As a user installs it, beside nothing else.
package_installs() {
  local place="$root/build/installed" wheel
  rm -rf "$place"
  wheel="$("$root/tools/wheel.sh")" &&
    /usr/bin/python3 "$root/tests/python/wheel_holds.py" "$wheel" &&
    /usr/bin/python3 -m venv "$place" && "$place/bin/pip" install -q "$wheel" 'pyarrow==26.*' &&
    (cd / && "$place/bin/python" "$root/tests/python/typed_example.py" &&
      "$place/bin/python" "$root/tests/python/wheel_works.py" "$place/bin" \
        > /dev/null)
}

# What runs write for TensorBoard, by its own reader.
tensorboard_reads() {
  local place="$root/build/tensorboard"
  /usr/bin/python3 -m venv "$place" &&
    "$place/bin/pip" install -q tensorboard==2.21.0 xprof==2.24.2 &&
    "$place/bin/python" tests/python/tensorboard_reads.py "$root/build/bin/weft"
}

# Arrays of JAX and tensors as each other.
jax_shares() {
  local place="$root/build/jax"
  /usr/bin/python3 -m venv "$place" &&
    "$place/bin/pip" install -q jax==0.7.1 &&
    PYTHONPATH="$root/build/python" "$place/bin/python" \
      tests/python/jax_exchange.py
}

echo "== address and undefined-behaviour sanitizers"
export ASAN_OPTIONS="detect_leaks=1:${ASAN_OPTIONS:-}"
export LSAN_OPTIONS="suppressions=$root/tools/leaks.supp:print_suppressions=0"
sanitized "$root/build-asan" "address;undefined" "slow|processes"
unset ASAN_OPTIONS LSAN_OPTIONS

# GCC's OpenMP runtime is not built for the thread sanitizer, which is told of
# its teams by base/openmp/parallel.cpp. Two compute threads are enough to meet.
echo "== thread sanitizer"
export OMP_NUM_THREADS=2
export TSAN_OPTIONS="suppressions=$root/tools/threads.supp"
# gRPC's locks are not built for it either: whatever passes through them, ours
# or its own, would be called a race.
sanitized "$root/build-tsan" "thread" \
  "slow|processes|ops|autodiff|market_grpc"
unset OMP_NUM_THREADS TSAN_OPTIONS

echo "== oneDNN 3.2"
if folder="$("$root/tools/onednn.sh")"; then
  build "$root/build-onednn3" all -DCMAKE_BUILD_TYPE=Release -DWEFT_TESTS=ON \
    "-DWEFT_ONEDNN=$folder"
  run_tests "$root/build-onednn3" -L "kernels|ops"
else
  failed=$((failed + 1))
fi

fuzz
step "clang-format" format_is_right
step "clang-tidy" lint
step "mypy --strict" stubs_are_right
step "doxygen" reference_is_right
step "the wheel" package_installs
step "tensorboard reads" tensorboard_reads
step "JAX shares arrays" jax_shares
echo "== slow end-to-end runs"
run_tests "$root/build" -L slow
