#include "weft/base/parallel.h"

#include <atomic>
#include <gtest/gtest.h>
#if defined(__linux__)
#include <sched.h>
#endif

namespace weft::parallel_test {
namespace {

#if defined(__linux__)
cpu_set_t allowed_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  sched_getaffinity(0, sizeof cores, &cores);
  return cores;
}

// The second thread goes to the caller's core, from where the next calls send
// it away.
TEST(Parallel, BindsNoThread) {
  const int before = thread_count();
  set_thread_count(2);
  const cpu_set_t allowed = allowed_cores();
  const int core = sched_getcpu();
  parallel_for(2, 1, [&](std::int64_t begin, std::int64_t) {
    if (begin == 0) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(core), &one);
    sched_setaffinity(0, sizeof one, &one);
    sched_setaffinity(0, sizeof allowed, &allowed);
  });
  for (int call = 0; call < 20; ++call) {
    std::atomic<int> free{0};
    parallel_for(2, 1, [&](std::int64_t begin, std::int64_t end) {
      const cpu_set_t now = allowed_cores();
      if (CPU_EQUAL(&now, &allowed)) free += static_cast<int>(end - begin);
    });
    EXPECT_EQ(free, 2);
  }
  set_thread_count(before);
}
#endif

TEST(Parallel, CoversEachElementOnce) {
  const int before = thread_count();
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    for (const std::int64_t size : {0, 1, 2, 7, 100}) {
      std::atomic<std::int64_t> sum{0};
      parallel_for(size, 3, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) sum += i + 1;
      });
      EXPECT_EQ(sum, size * (size + 1) / 2) << threads << " threads";
    }
  }
  set_thread_count(before);
}

}  // namespace
}  // namespace weft::parallel_test
