// Counts what this program itself asks the system's heap for: calls of
// malloc and its kin, and of operator new, from the program's own code (which
// Weft is linked into). What shared libraries allocate is counted apart.
//
// Linking this in replaces malloc; under a sanitizer, which has one of its
// own, nothing is counted.
//
// Threads: thread-safe.
#pragma once

#include <cstdint>

namespace weft::test {

struct HeapUse {
  std::int64_t own = 0;
  std::int64_t libraries = 0;
};

// Since the process began.
HeapUse heap_use();

// False where counting is not possible.
bool can_count_allocations();

}  // namespace weft::test
