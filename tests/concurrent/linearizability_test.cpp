#include "weft/concurrent/counter/linearizability.h"

#include <atomic>
#include <gtest/gtest.h>
#include <vector>

#include "weft/concurrent/counter/exact_counters.h"
#include "weft/concurrent/counter/multi_counter.h"
#include "weft/concurrent/threads.h"

namespace weft::concurrent::linearizability_test {
namespace {

struct Access {
  bool is_read = false;
  std::uint64_t value = 0;
};

struct Register {
  std::uint64_t value = 0;
  bool apply(const Access& access) {
    if (access.is_read) return access.value == value;
    value = access.value;
    return true;
  }
  auto operator<=>(const Register&) const = default;
};

using History = std::vector<Timed<Access>>;

TEST(Linearizability, ReadsBetweenOverlappingWrites) {
  const History fine = {
      {{false, 1}, 0, 5}, {{true, 0}, 1, 2}, {{true, 1}, 3, 4}};
  EXPECT_TRUE(is_linearizable(Register{}, fine));
  const History back = {
      {{false, 1}, 0, 5}, {{true, 1}, 1, 2}, {{true, 0}, 3, 4}};
  EXPECT_FALSE(is_linearizable(Register{}, back));
}

TEST(Linearizability, RealTimeOrderBinds) {
  const History late = {{{false, 1}, 0, 1}, {{true, 0}, 2, 3}};
  EXPECT_FALSE(is_linearizable(Register{}, late));
  const History overlapping = {{{false, 1}, 0, 2}, {{true, 0}, 1, 3}};
  EXPECT_TRUE(is_linearizable(Register{}, overlapping));
  EXPECT_TRUE(is_linearizable(Register{}, History{}));
}

// An operation of a counter: an increment, or a read that gave `value`.
struct Count {
  std::uint64_t count = 0;
  bool apply(const Access& access) {
    if (access.is_read) return access.value == count;
    ++count;
    return true;
  }
  auto operator<=>(const Count&) const = default;
};

template <class Increment, class Read>
History record(Increment increment, Read read) {
  std::atomic<std::uint64_t> clock = 0;
  std::vector<History> of_thread(3);
  run_threads(3, [&](int thread) {
    for (int i = 0; i < 6; ++i) {
      Timed<Access> done{{i % 2 == 1, 0}, clock.fetch_add(1), 0};
      if (done.operation.is_read)
        done.operation.value = read(thread);
      else
        increment(thread);
      done.returned = clock.fetch_add(1);
      of_thread[std::size_t(thread)].push_back(done);
    }
  });
  History all;
  for (const History& part : of_thread)
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

TEST(Linearizability, FetchAddIs) {
  for (int round = 0; round < 20; ++round) {
    FetchAddCounter<> counter;
    EXPECT_TRUE(
        is_linearizable(Count{}, record([&](int) { counter.add(); },
                                        [&](int) { return counter.read(); })));
  }
}

TEST(Linearizability, MultiCounterIsNot) {
  MultiCounter<> counter(16);
  std::vector<FastRandom> random;
  for (std::uint64_t i = 0; i < 3; ++i) random.emplace_back(1, i);
  EXPECT_FALSE(is_linearizable(
      Count{},
      record([&](int i) { counter.increment(random[std::size_t(i)]); },
             [&](int i) { return counter.read(random[std::size_t(i)]); })));
}

}  // namespace
}  // namespace weft::concurrent::linearizability_test
