#include "weft/base/parallel.h"

#include <algorithm>
#include <omp.h>

namespace weft {

int thread_count() { return omp_get_max_threads(); }

void set_thread_count(int count) { omp_set_num_threads(std::max(1, count)); }

namespace detail {

void parallel_ranges(std::int64_t size, std::int64_t grain,
                     RangeFunction function, void* body) {
  if (size <= 0) return;
  const std::int64_t most =
      std::max<std::int64_t>(1, size / std::max<std::int64_t>(1, grain));
  const int threads = static_cast<int>(
      // A call from inside a body would ask for threads that are all at work.
      std::min<std::int64_t>(omp_in_parallel() ? 1 : thread_count(), most));
  // One range does not wake the other threads.
  if (threads == 1) {
    function(body, 0, size);
    return;
  }
#pragma omp parallel num_threads(threads)
  {
    const std::int64_t count = omp_get_num_threads();
    const std::int64_t self = omp_get_thread_num();
    // The ranges differ by one element at most, and follow from size and count
    // alone.
    const std::int64_t begin = size * self / count;
    const std::int64_t end = size * (self + 1) / count;
    if (begin < end) function(body, begin, end);
  }
}

}  // namespace detail
}  // namespace weft
