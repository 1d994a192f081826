#include "weft/concurrent/iterative/list_contraction.h"

#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include "weft/concurrent/coherence/explorer.h"
#include "weft/concurrent/coherence/simulated_memory.h"

namespace weft::concurrent::list_contraction_test {
namespace {

constexpr Task kNodes = 4;

// A thread for each of the first nodes by rank; the others stay.
struct Contraction : Program {
  using List = ListContraction<SimulatedMemory>;

  Contraction(std::vector<Task> next, const Order& order, Task going)
      : successor(std::move(next)),
        list(successor, order),
        expected(successor, order) {
    for (Task rank = 0; rank < going; ++rank) expected.attempt(rank, 0);
  }

  void run(int thread) override {
    while (list.attempt(static_cast<Task>(thread), thread) == Outcome::kBlocked)
      SimulatedMemory::pause();
  }

  void check() override {
    const auto found = list.contracted();
    const auto wanted = expected.contracted();
    for (Task rank = 0; rank < kNodes; ++rank)
      require(found[rank].before == wanted[rank].before &&
                  found[rank].after == wanted[rank].after,
              "not the sequential contraction");
  }

  std::vector<Task> successor;
  List list;
  ListContraction<> expected;
};

// All orders of priority of a list and of a ring of four, three of which go at
// once: a node that goes must not overwrite what a faster neighbour has said.
TEST(ListContraction, IsTheSequentialOneInEveryOrderOfSteps) {
  for (const bool is_ring : {false, true}) {
    const std::vector<Task> successor = {1, 2, 3,
                                         is_ring ? 0 : ListContraction<>::kEnd};
    for (std::uint64_t seed = 0; seed < 24; ++seed) {
      const Order order = random_order(kNodes, seed);
      const Exploration found = explore(3, [&] {
        return std::make_unique<Contraction>(successor, order, Task{3});
      });
      EXPECT_EQ(found.failure, "") << "seed " << seed << found.describe();
      EXPECT_TRUE(found.is_complete);
    }
  }
}

}  // namespace
}  // namespace weft::concurrent::list_contraction_test
