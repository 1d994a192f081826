// What transactions create and destroy, and when it goes.
#include <atomic>
#include <gtest/gtest.h>
#include <new>
#include <stdexcept>
#include <vector>

#include "tests/support/stm_modes.h"

#include "weft/concurrent/stm/session.h"
#include "weft/concurrent/threads.h"

namespace weft::concurrent::stm_memory_test {
namespace {

struct Counted {
  explicit Counted(int its_value = 0) : value(its_value) { ++alive; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --alive; }
  Cell<int> value;
  static inline std::atomic<int> alive = 0;
};

struct Refused {
  static void* operator new(std::size_t /*bytes*/) { throw std::bad_alloc(); }
};

struct RefusedLater {
  RefusedLater() { throw std::runtime_error("in the constructor"); }
};

class StmMemory : public test::StmModes {};

INSTANTIATE_TEST_SUITE_P(, StmMemory, testing::Bool(), [](const auto& info) {
  return info.param ? "Hardware" : "Software";
});

TEST_P(StmMemory, WhatAnAbortedTransactionCreatedGoesOnce) {
  Stm<> stm(options());
  Session<> first(stm, 0);
  Session<> second(stm, 1);
  Cell<Counted*> root(nullptr);
  Cell<int> disturbed(0);
  int attempts = 0;
  first.run([&](Transaction<>& t) {
    const int seen = t.read(disturbed);
    t.write(root, t.create<Counted>(seen));
    EXPECT_EQ(Counted::alive.load(), 1);
    if (attempts++ < 2)
      second.run([&](Transaction<>& u) { u.write(disturbed, attempts); });
  });
  EXPECT_EQ(attempts, 3);
  EXPECT_EQ(Counted::alive.load(), 1);
  EXPECT_EQ(root.unshared()->value.unshared(), 2);
  delete root.unshared();
}

TEST_P(StmMemory, NothingStaysWhereAllocationFails) {
  Stm<> stm(options());
  Session<> session(stm);
  Cell<int> cell(0);
  const auto fails = [&](auto allocate) {
    session.run([&](Transaction<>& t) {
      t.write(cell, 1);
      t.create<Counted>();
      allocate(t);
    });
  };
  EXPECT_THROW(fails([](auto& t) { t.template create<Refused>(); }),
               std::bad_alloc);
  EXPECT_THROW(fails([](auto& t) { t.template create<RefusedLater>(); }),
               std::runtime_error);
  EXPECT_EQ(Counted::alive.load(), 0);
  EXPECT_EQ(cell.unshared(), 0);
  session.run([&](Transaction<>& t) { t.write(cell, 2); });
  EXPECT_EQ(cell.unshared(), 2);
}

TEST_P(StmMemory, WhatIsDestroyedStaysWhileItMayBeSeen) {
  {
    Stm<> stm(options());
    Session<> writer(stm, 0);
    Session<> reader(stm, 1);
    Cell<Counted*> root(new Counted(7));
    reader.read([&](Transaction<>& t) {
      Counted* seen = t.read(root);
      for (int i = 0; i < 500; ++i)
        writer.run([&](Transaction<>& u) {
          u.destroy(u.read(root));
          u.write(root, u.create<Counted>(i));
        });
      // Nothing was freed, so this is the value of the reader's moment.
      EXPECT_EQ(Counted::alive.load(), 501);
      EXPECT_EQ(t.read(seen->value), 7);
    });
    // Once the reader is gone, all but the last batches go.
    for (int i = 0; i < 500; ++i)
      writer.run([&](Transaction<>& u) {
        u.destroy(u.read(root));
        u.write(root, u.create<Counted>(i));
      });
    EXPECT_LT(Counted::alive.load(), 300);
    delete root.unshared();
  }
  EXPECT_EQ(Counted::alive.load(), 0);  // the Stm took the rest with it
}

TEST_P(StmMemory, AnAbortedDestroyDestroysNothing) {
  Stm<> stm(options());
  Session<> session(stm);
  Cell<Counted*> root(new Counted(1));
  EXPECT_THROW(session.run([&](Transaction<>& t) {
    t.destroy(t.read(root));
    t.write(root, nullptr);
    throw std::runtime_error("no");
  }),
               std::runtime_error);
  EXPECT_EQ(Counted::alive.load(), 1);
  EXPECT_EQ(root.unshared()->value.unshared(), 1);
  delete root.unshared();
}

// Readers follow pointers that writers replace; sanitizers see a use after the
// free.
TEST_P(StmMemory, ReadersNeverMeetFreedMemory) {
  {
    Stm<> stm(options(ClockKind::kGv6));
    std::vector<Cell<Counted*>> roots(4);
    for (auto& root : roots) root.set_unshared(new Counted(0));
    run_threads(4, [&](int thread) {
      Session<> session(stm, std::uint64_t(thread));
      FastRandom random(3, std::uint64_t(thread));
      for (int i = 0; i < 3000; ++i) {
        auto& root = roots[random.below(4)];
        if (thread % 2 == 0)
          session.run([&](Transaction<>& t) {
            Counted* old = t.read(root);
            t.write(root, t.create<Counted>(t.read(old->value) + 1));
            t.destroy(old);
          });
        else
          session.read([&](Transaction<>& t) {
            int sum = 0;
            for (auto& each : roots) sum += t.read(t.read(each)->value);
            return sum;
          });
      }
    });
    int sum = 0;
    for (auto& root : roots) {
      sum += root.unshared()->value.unshared();
      delete root.unshared();
    }
    EXPECT_EQ(sum, 6000);
  }
  EXPECT_EQ(Counted::alive.load(), 0);
}

}  // namespace
}  // namespace weft::concurrent::stm_memory_test
