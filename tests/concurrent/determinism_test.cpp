// Every way to run an iterative problem gives the sequential result, on any
// number of threads.
#include <atomic>
#include <functional>
#include <gtest/gtest.h>
#include <new>
#include <numeric>
#include <string>
#include <vector>

#include "tests/concurrent/sample_graphs.h"
#include "tests/support/address_limit.h"
#include "tests/support/errors.h"

#include "weft/concurrent/iterative/certificates.h"
#include "weft/concurrent/iterative/colouring.h"
#include "weft/concurrent/iterative/exact_run.h"
#include "weft/concurrent/iterative/independent_set.h"
#include "weft/concurrent/iterative/kernels.h"
#include "weft/concurrent/iterative/list_contraction.h"
#include "weft/concurrent/iterative/matching.h"
#include "weft/concurrent/iterative/relaxed_run.h"
#include "weft/concurrent/iterative/round_run.h"
#include "weft/concurrent/iterative/shuffle.h"
#include "weft/concurrent/queue/locked_queue.h"
#include "weft/concurrent/queue/multi_queue.h"

namespace weft::concurrent::determinism_test {
namespace {

using Owned = MultiQueue<Task, Nothing, RealMemory, OwnedPair<RealMemory>>;

// Runs fresh problems in every way there is; `check` is told what ran.
template <class Make, class Check>
void run_every_way(Make&& make, Check&& check) {
  for (const int threads : {1, 2, 8, 64}) {
    const auto on = " on " + std::to_string(threads) + " threads";
    const auto finish = [&](auto& problem, const RunCounts& counts,
                            const std::string& name) {
      EXPECT_EQ(counts.decided(), problem.tasks()) << name + on;
      check(problem, name + on);
    };
    for (const int queues : {1, 2, 7, 128})
      for (const int stickiness : {1, 16}) {
        auto problem = make(threads);
        MultiQueue<Task> queue({.queues = queues, .stickiness = stickiness});
        finish(problem, run_relaxed(problem, queue, threads),
               std::to_string(queues) + " queues");
      }
    {
      auto problem = make(threads);
      Owned queue({.queues = 2 * threads, .threads = threads});
      finish(problem, run_relaxed(problem, queue, threads), "owned pairs");
    }
    {
      auto problem = make(threads);
      LockedHeap<Task> queue;
      finish(problem, run_relaxed(problem, queue, threads), "locked heap");
    }
    {
      auto problem = make(threads);
      UniformQueue<Task> queue({16, 3});
      finish(problem, run_relaxed(problem, queue, threads), "uniform");
    }
    {
      auto problem = make(threads);
      finish(problem, run_exact(problem, threads), "exact");
    }
    for (const Task prefix : {40U, 100000U}) {
      auto problem = make(threads);
      finish(problem, run_rounds(problem, threads, prefix), "rounds");
    }
  }
}

constexpr Vertex kVertices = 600;

const Graph& sample() {
  static const Graph ranked = Graph(kVertices, untidy_edges(kVertices, 1500, 5))
                                  .renamed(random_order(kVertices, 5).rank_of);
  return ranked;
}

TEST(Determinism, OfTheIndependentSet) {
  IndependentSet<> sequential(sample());
  run_in_order(sequential);
  const auto expected = sequential.chosen();
  ASSERT_TRUE(is_greedy_independent_set(sample(), expected));
  run_every_way([](int) { return IndependentSet<>(sample()); },
                [&](const auto& set, const std::string& how) {
                  EXPECT_TRUE(set.chosen() == expected) << how;
                });
}

TEST(Determinism, OfTheColouring) {
  Colouring<> sequential(sample(), 1);
  run_in_order(sequential);
  const auto expected = sequential.colours();
  ASSERT_TRUE(is_greedy_colouring(sample(), expected));
  run_every_way([](int threads) { return Colouring<>(sample(), threads); },
                [&](const auto& colouring, const std::string& how) {
                  EXPECT_TRUE(colouring.colours() == expected) << how;
                });
}

TEST(Determinism, OfTheMatching) {
  const auto edges = untidy_edges(200, 800, 5);
  const RankedEdges ranked(200, edges,
                           random_order(static_cast<Task>(edges.size()), 5));
  Matching<> sequential(ranked);
  run_in_order(sequential);
  const auto expected = sequential.taken();
  ASSERT_TRUE(is_greedy_matching(ranked, expected));
  run_every_way([&](int) { return Matching<>(ranked); },
                [&](const auto& matching, const std::string& how) {
                  EXPECT_TRUE(matching.taken() == expected) << how;
                });
}

TEST(Determinism, OfTheShuffle) {
  constexpr Task kCells = 800;
  const auto targets = shuffle_targets(kCells, 5);
  std::vector<Task> expected(kCells);
  std::iota(expected.begin(), expected.end(), 0);
  for (Task i = 0; i < kCells; ++i)
    std::swap(expected[i], expected[targets[i]]);
  run_every_way([&](int) { return Shuffle<>(targets); },
                [&](const auto& shuffle, const std::string& how) {
                  EXPECT_TRUE(shuffle.cells() == expected) << how;
                });
}

// Two lists and a ring, contracted by hand: one node after the other.
TEST(Determinism, OfListContraction) {
  using List = ListContraction<>;
  constexpr Task kNodes = 600;
  std::vector<Task> successor(kNodes);
  for (Task i = 0; i < kNodes; ++i) successor[i] = i + 1;
  successor[99] = List::kEnd;
  successor[399] = List::kEnd;
  successor[kNodes - 1] = 400;
  const Order order = random_order(kNodes, 5);

  std::vector<Task> before(kNodes, List::kEnd);
  std::vector<Task> after(kNodes, List::kEnd);
  for (Task i = 0; i < kNodes; ++i) {
    if (successor[i] == List::kEnd) continue;
    after[order.rank_of[i]] = order.rank_of[successor[i]];
    before[order.rank_of[successor[i]]] = order.rank_of[i];
  }
  for (Task i = 0; i < kNodes; ++i) {
    if (before[i] != List::kEnd) after[before[i]] = after[i];
    if (after[i] != List::kEnd) before[after[i]] = before[i];
  }

  run_every_way([&](int) { return List(successor, order); },
                [&](const auto& list, const std::string& how) {
                  const auto found = list.contracted();
                  for (Task i = 0; i < kNodes; ++i)
                    ASSERT_EQ(found[i], (List::Neighbours{before[i], after[i]}))
                        << how << ", node " << i;
                });
}

TEST(Determinism, OfTheKernels) {
  const Graph graph(kVertices, random_edges(kVertices, 2000, 8));
  const auto edges = random_edges(kVertices, 2000, 8);
  const auto set = independent_set(graph, {.seed = 3});
  const auto colours = colouring(graph, {.seed = 3});
  const auto matched = matching(kVertices, edges, {.seed = 3});
  for (const KernelOptions& options :
       {KernelOptions{.seed = 3, .threads = 2},
        KernelOptions{.seed = 3, .threads = 8, .queues = 3}}) {
    EXPECT_TRUE(independent_set(graph, options) == set);
    EXPECT_TRUE(colouring(graph, options) == colours);
    EXPECT_TRUE(matching(kVertices, edges, options) == matched);
  }
  EXPECT_FALSE(independent_set(graph, {.seed = 4}) == set);
}

TEST(Kernels, RefuseThreadsBelowOne) {
  const Graph graph(kVertices, random_edges(kVertices, 100, 8));
  for (const int threads : {0, -1}) {
    weft::test::expect_error(ErrorCode::kInvalidArgument, {"threads"}, [&] {
      colouring(graph, {.seed = 3, .threads = threads});
    });
    weft::test::expect_error(ErrorCode::kInvalidArgument, {"threads"}, [&] {
      independent_set(graph, {.seed = 3, .threads = threads});
    });
  }
}

// --- Ends --------------------------------------------------------------------

TEST(RelaxedRun, EndsWithFewerTasksThanThreads) {
  for (const Vertex vertices : {0U, 1U, 2U, 5U}) {
    const Graph graph(vertices, path_edges(vertices));
    IndependentSet<> set(graph);
    MultiQueue<Task> queue({.queues = 16});
    EXPECT_EQ(run_relaxed(set, queue, 8).decided(), vertices);
    EXPECT_EQ(queue.size(), 0U);
  }
}

// All tasks but the first wait for it, and it is decided only once others have
// been turned away many times: whoever holds it is slow, or was preempted.
class SlowFirst {
 public:
  using MemoryType = RealMemory;
  Task tasks() const { return 40; }
  Outcome attempt(Task task, int /*thread*/) noexcept {
    if (task != 0) {
      if (done_.load(std::memory_order_acquire)) return Outcome::kProcessed;
      turned_away_.fetch_add(1, std::memory_order_relaxed);
      return Outcome::kBlocked;
    }
    while (turned_away_.load(std::memory_order_relaxed) < 5000)
      RealMemory::yield();
    done_.store(true, std::memory_order_release);
    return Outcome::kProcessed;
  }

 private:
  std::atomic<bool> done_{false};
  std::atomic<int> turned_away_{0};
};

TEST(RelaxedRun, WaitsForATaskThatAnotherThreadHolds) {
  SlowFirst problem;
  MultiQueue<Task> queue({.queues = 8});
  const RunCounts counts = run_relaxed(problem, queue, 4);
  EXPECT_EQ(counts.processed, 40U);
  EXPECT_GE(counts.blocked, 5000U);
}

// A queue that fails to take back one task in a thousand.
class FailingQueue {
 public:
  using Entry = concurrent::Entry<Task>;
  using MemoryType = RealMemory;

  class Handle {
   public:
    explicit Handle(FailingQueue& queue)
        : queue_(queue), handle_(queue.queue_.handle(0)) {}
    void push(const Entry& entry) {
      if (++queue_.pushes_ > 1000) throw std::bad_alloc();
      handle_.push(entry);
    }
    std::optional<Entry> pop() { return handle_.pop(); }

   private:
    FailingQueue& queue_;
    LockedHeap<Task>::Handle handle_;
  };

  Handle handle(int /*thread*/) { return Handle(*this); }

 private:
  LockedHeap<Task> queue_;
  std::atomic<int> pushes_{0};
};

class AllBlocked {
 public:
  using MemoryType = RealMemory;
  Task tasks() const { return 40; }
  Outcome attempt(Task /*task*/, int /*thread*/) noexcept {
    return Outcome::kBlocked;
  }
};

TEST(RelaxedRun, EndsOnAllThreadsWhenOneRunsOutOfMemory) {
  AllBlocked problem;
  FailingQueue queue;
  EXPECT_THROW(run_relaxed(problem, queue, 4), std::bad_alloc);
}

// Bodies that wait for each other would wait for ever for those that are not
// there.
TEST(RunThreads, RunsNothingWhereThereAreTooFewThreads) {
  const weft::test::AddressLimit limit(std::size_t{64} << 20U);
  std::atomic<int> begun = 0;
  weft::test::expect_error(ErrorCode::kExhausted, {"of 1000 threads"},
                           [&] { run_threads(1000, [&](int) { ++begun; }); });
  EXPECT_EQ(begun, 0);
}

TEST(Shuffle, RefusesATargetThatComesLater) {
  const std::vector<Task> targets = {0, 2, 1};
  weft::test::expect_error(ErrorCode::kInvalidArgument, {"target 2 of cell 1"},
                           [&] { Shuffle<> shuffle(targets); });
}

TEST(Shuffle, TargetsAreUniform) {
  std::vector<int> counts(5, 0);
  for (std::uint64_t seed = 0; seed < 20000; ++seed)
    ++counts[shuffle_targets(5, seed)[4]];
  for (const int count : counts) EXPECT_NEAR(count, 4000, 340);
}

TEST(ListContraction, RefusesWhatIsNoList) {
  const Order order = random_order(3, 1);
  const std::vector<Task> shared = {2, 2, ListContraction<>::kEnd};
  weft::test::expect_error(ErrorCode::kInvalidArgument, {"both followed by 2"},
                           [&] { ListContraction<> list(shared, order); });
  const std::vector<Task> outside = {1, 2, 3};
  weft::test::expect_error(ErrorCode::kInvalidArgument, {"followed by 3"},
                           [&] { ListContraction<> list(outside, order); });
}

TEST(RoundRun, WithOneTaskARoundNothingIsBlocked) {
  IndependentSet<> set(sample());
  EXPECT_EQ(run_rounds(set, 2, 1).blocked, 0U);
  EXPECT_TRUE(is_greedy_independent_set(sample(), set.chosen()));
}

TEST(RoundRun, RefusesEmptyRounds) {
  IndependentSet<> set(sample());
  EXPECT_THROW(run_rounds(set, 1, 0), Error);
}

}  // namespace
}  // namespace weft::concurrent::determinism_test
