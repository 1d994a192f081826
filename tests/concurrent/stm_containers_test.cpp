#include <atomic>
#include <compare>
#include <deque>
#include <gtest/gtest.h>
#include <map>
#include <stdexcept>
#include <vector>

#include "tests/support/stm_modes.h"

#include "weft/concurrent/counter/linearizability.h"
#include "weft/concurrent/stm/containers.h"
#include "weft/concurrent/stm/lock_baselines.h"
#include "weft/concurrent/stm/session.h"
#include "weft/concurrent/threads.h"

namespace weft::concurrent::stm_containers_test {
namespace {

using T = Transaction<>;

class StmContainers : public test::StmModes {};

INSTANTIATE_TEST_SUITE_P(, StmContainers, testing::Bool(),
                         [](const auto& info) {
                           return info.param ? "Hardware" : "Software";
                         });

TEST_P(StmContainers, AStackIsLastInFirstOut) {
  Stm<> stm(options());
  Session<> session(stm);
  TransactionalStack<int> stack;
  session.run([&](T& t) {
    for (int i = 0; i < 5; ++i) stack.push(t, i);
    EXPECT_EQ(stack.pop(t), 4);
  });
  session.run([&](T& t) {
    for (int i = 3; i >= 0; --i) EXPECT_EQ(stack.pop(t), i);
    EXPECT_EQ(stack.pop(t), std::nullopt);
    stack.push(t, 9);  // stays behind: the destructor's
  });
}

TEST_P(StmContainers, AQueueIsFirstInFirstOut) {
  Stm<> stm(options());
  Session<> session(stm);
  TransactionalQueue<int> queue;
  for (int round = 0; round < 3; ++round) {
    session.run([&](T& t) {
      for (int i = 0; i < 4; ++i) queue.push(t, i);
      EXPECT_EQ(queue.pop(t), 0);
    });
    session.run([&](T& t) {
      for (int i = 1; i < 4; ++i) EXPECT_EQ(queue.pop(t), i);
      EXPECT_EQ(queue.pop(t), std::nullopt);
    });
  }
  session.run([&](T& t) { queue.push(t, 7); });
}

TEST_P(StmContainers, AMapAgreesWithStdMap) {
  Stm<> stm(options());
  Session<> session(stm);
  TransactionalMap<int, long> map(5);
  std::map<int, long> expected;
  FastRandom random(4, 0);
  for (int i = 0; i < 4000; ++i) {
    const int key = int(random.below(40));
    const std::uint32_t what = random.below(3);
    session.run([&](T& t) {
      if (what == 0) {
        map.set(t, key, i);
      } else if (what == 1) {
        EXPECT_EQ(map.erase(t, key), expected.contains(key));
      } else {
        const auto found = map.find(t, key);
        EXPECT_EQ(found.has_value(), expected.contains(key));
        if (found) {
          EXPECT_EQ(*found, expected[key]);
        }
      }
    });
    if (what == 0) expected[key] = i;
    if (what == 1) expected.erase(key);
  }
  EXPECT_THROW((TransactionalMap<int, int>(0)), Error);
}

// Items move between a stack, a queue and a map; none is lost, none doubled.
TEST_P(StmContainers, WhatMovesInOneTransactionIsNeverInTwoPlaces) {
  constexpr int kItems = 30;
  Stm<> stm(options(ClockKind::kGv6));
  TransactionalStack<int> stack;
  TransactionalQueue<int> queue;
  TransactionalMap<int, int> map(8);
  Session<> main(stm, 100);
  main.run([&](T& t) {
    for (int i = 0; i < kItems; ++i) stack.push(t, i);
  });
  run_threads(3, [&](int thread) {
    Session<> session(stm, std::uint64_t(thread));
    FastRandom random(8, std::uint64_t(thread));
    for (int i = 0; i < 1500; ++i) {
      const int key = int(random.below(kItems));
      session.run([&](T& t) {
        if (thread == 0) {
          if (const auto item = stack.pop(t)) queue.push(t, *item);
        } else if (thread == 1) {
          if (const auto item = queue.pop(t)) map.set(t, *item, *item);
        } else if (const auto item = map.find(t, key)) {
          map.erase(t, key);
          stack.push(t, *item);
        }
      });
    }
  });
  std::vector<int> seen(kItems, 0);
  main.run([&](T& t) {
    std::fill(seen.begin(), seen.end(), 0);
    while (const auto item = stack.pop(t)) ++seen[std::size_t(*item)];
    while (const auto item = queue.pop(t)) ++seen[std::size_t(*item)];
    for (int i = 0; i < kItems; ++i)
      if (map.erase(t, i)) ++seen[std::size_t(i)];
  });
  EXPECT_EQ(seen, std::vector<int>(kItems, 1));
}

struct Operation {
  bool is_push = false;
  int value = -1;  // pushed, or popped; -1 where there was nothing
};

struct SequentialQueue {
  std::deque<int> items;
  bool apply(const Operation& operation) {
    if (operation.is_push) {
      items.push_back(operation.value);
      return true;
    }
    if (items.empty()) return operation.value == -1;
    const int first = items.front();
    items.pop_front();
    return operation.value == first;
  }
  auto operator<=>(const SequentialQueue&) const = default;
};

TEST_P(StmContainers, ShortHistoriesOfAQueueAreLinearizable) {
  for (const Locking locking :
       {Locking::kCommitTime, Locking::kEncounterTime}) {
    for (int round = 0; round < 20; ++round) {
      Stm<> stm(options(ClockKind::kGv4, locking));
      TransactionalQueue<int> queue;
      std::atomic<std::uint64_t> clock = 0;
      std::vector<std::vector<Timed<Operation>>> parts(3);
      run_threads(3, [&](int thread) {
        Session<> session(stm, std::uint64_t(thread));
        for (int i = 0; i < 6; ++i) {
          Timed<Operation> done{
              {i % 2 == 0, 10 * thread + i}, clock.fetch_add(1), 0};
          session.run([&](T& t) {
            if (done.operation.is_push)
              queue.push(t, done.operation.value);
            else
              done.operation.value = queue.pop(t).value_or(-1);
          });
          done.returned = clock.fetch_add(1);
          parts[std::size_t(thread)].push_back(done);
        }
      });
      std::vector<Timed<Operation>> history;
      for (const auto& part : parts)
        history.insert(history.end(), part.begin(), part.end());
      EXPECT_TRUE(is_linearizable(SequentialQueue{}, history));
    }
  }
}

// The baselines: the same body, the same sums.
template <class MakeSession>
void expect_exact_sums(MakeSession make_session) {
  std::vector<LockedCell<int>> cells(5);
  run_threads(3, [&](int thread) {
    auto session = make_session(thread);
    FastRandom random(2, std::uint64_t(thread));
    for (int i = 0; i < 3000; ++i) {
      auto& a = cells[random.below(5)];
      auto& b = cells[random.below(5)];
      session.run([&](auto& t) {
        t.write(a, t.read(a) + 1);
        t.write(b, t.read(b) + 1);
      });
    }
  });
  auto session = make_session(9);
  EXPECT_THROW(session.run([&](auto& t) {
    t.write(cells[0], -1);
    t.write(cells[0], -2);
    throw std::runtime_error("no");
  }),
               std::runtime_error);
  int sum = 0;
  for (const auto& cell : cells) sum += cell.unshared();
  EXPECT_EQ(sum, 18000);
}

TEST(LockBaselines, CountExactlyAndUndo) {
  GlobalLock<> lock;
  expect_exact_sums([&](int) { return GlobalLockSession<>(lock); });
  expect_exact_sums(
      [](int thread) { return TwoPhaseSession<>(std::uint64_t(thread)); });
}

}  // namespace
}  // namespace weft::concurrent::stm_containers_test
