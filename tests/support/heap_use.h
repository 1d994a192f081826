// Counts what this program itself asks the system's heap for: calls of
// malloc and its kin, and of operator new, from the program's own code (which
// Weft is linked into). What shared libraries allocate is counted apart.
//
// Linking this in replaces malloc.
//
// Threads: thread-safe.
#pragma once

#include <cstdint>
#include <cstdlib>

// A sanitizer brings its own malloc: tests that count are not built with one.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    !defined(__GLIBC__)
#define WEFT_COUNTS_ALLOCATIONS 0
#else
#define WEFT_COUNTS_ALLOCATIONS 1
#endif

namespace weft::test {

struct HeapUse {
  std::int64_t own = 0;
  std::int64_t libraries = 0;
};

// Counts since the process began.
HeapUse heap_use();

}  // namespace weft::test
