// How many blocks the process has taken from operator new. A test binary that
// calls this gets its own, counting, operator new.
#pragma once

#include <cstdint>

namespace weft::test {

std::int64_t allocation_count();

}  // namespace weft::test
