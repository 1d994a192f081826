// The pool of base/threads. What holds for any compute threads is in
// tests/base/parallel_test.cpp, which is compiled with these.
#include <atomic>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "weft/base/parallel.h"

namespace weft::threads_test {
namespace {

std::int64_t sum_to(std::int64_t size) {
  std::atomic<std::int64_t> sum{0};
  parallel_for(size, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) sum += i;
  });
  return sum;
}

TEST(Threads, ServeManyCallersAtOnce) {
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < 4; ++caller) {
      callers.emplace_back([&, caller] {
        set_thread_count(caller + 1);
        for (std::int64_t size = 0; size < 300; ++size) {
          wrong += sum_to(size) != size * (size - 1) / 2;
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, ACallFromInsideABodyIsSerial) {
  set_thread_count(3);
  std::atomic<int> ranges{0};
  std::atomic<int> moved{0};
  parallel_for(3, 1, [&](std::int64_t, std::int64_t) {
    const auto outer = std::this_thread::get_id();
    parallel_for(100, 1, [&](std::int64_t begin, std::int64_t end) {
      ++ranges;
      moved += std::this_thread::get_id() != outer || end - begin != 100;
    });
  });
  EXPECT_EQ(ranges, 3);
  EXPECT_EQ(moved, 0);
}

TEST(Threads, EachThreadHasItsOwnCount) {
  set_thread_count(3);
  std::jthread([] {
    set_thread_count(0);
    EXPECT_EQ(thread_count(), 1);
  }).join();
  EXPECT_EQ(thread_count(), 3);
}

}  // namespace
}  // namespace weft::threads_test
