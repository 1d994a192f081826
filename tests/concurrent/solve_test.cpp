#include "weft/concurrent/iterative/solve.h"

#include <gtest/gtest.h>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

#include "weft/base/file.h"
#include "weft/concurrent/iterative/certificates.h"
#include "weft/concurrent/iterative/shuffle.h"

namespace weft::concurrent::solve_test {
namespace {

using weft::test::expect_error;
using Rows = std::vector<std::uint64_t>;

// Vertices are named by even numbers; some edges come twice, one is a loop.
NamedEdges sample() {
  std::string text = "# sample\n8 8\n";
  for (const auto& [a, b] : random_edges(300, 900, 4)) {
    text += std::to_string(2 * a) + "\t" + std::to_string(2 * b) + "\n";
    if (a % 3 == 0)
      text += std::to_string(2 * b) + " " + std::to_string(2 * a) + "\n";
  }
  return parse_edge_list(text, "sample");
}

// A list, a ring and a loop.
NamedEdges lists() {
  std::string text = "1000 1000\n";
  for (int i = 0; i < 80; ++i)
    text += std::to_string(i) + " " + std::to_string(i + 1) + "\n";
  for (int i = 100; i < 150; ++i)
    text +=
        std::to_string(i) + " " + std::to_string(i == 149 ? 100 : i + 1) + "\n";
  return parse_edge_list(text, "lists");
}

constexpr SolveProblem kProblems[] = {
    SolveProblem::kIndependentSet, SolveProblem::kMatching,
    SolveProblem::kColouring, SolveProblem::kListContraction,
    SolveProblem::kShuffle};

NamedEdges graph_for(SolveProblem problem) {
  return problem == SolveProblem::kListContraction ? lists() : sample();
}

TEST(Solve, EverySchedulerFindsTheSequentialSolution) {
  for (const SolveProblem problem : kProblems) {
    const NamedEdges graph = graph_for(problem);
    const Solution expected = solve(
        graph, {.problem = problem,
                .scheduler = {.kind = SchedulerKind::kInOrder, .seed = 3}});
    EXPECT_EQ(expected.counts.blocked, 0U);
    for (const std::string& name : scheduler_names()) {
      const SchedulerKind kind = scheduler_kind(name);
      const int threads = kind == SchedulerKind::kInOrder ? 1 : 3;
      const Solution found = solve(
          graph, {.problem = problem,
                  .scheduler = {.kind = kind, .threads = threads, .seed = 3}});
      const std::string how = std::string(to_string(problem)) + " by " + name;
      EXPECT_TRUE(found.is_certified) << how;
      EXPECT_EQ(found.counts.decided(), found.tasks) << how;
      EXPECT_EQ(found.size, expected.size) << how;
      EXPECT_EQ(found.rows, expected.rows) << how;
    }
  }
}

TEST(Solve, CountsWhatItSolves) {
  const NamedEdges graph = sample();
  const Solution set = solve(graph, {});
  EXPECT_EQ(set.vertices, graph.vertices());
  EXPECT_EQ(set.edges, simple_edges(graph.edges).size());
  EXPECT_EQ(set.edges + set.left_out, graph.edges.size());
  EXPECT_EQ(set.rows.size(), set.size);

  const Solution contracted =
      solve(lists(), {.problem = SolveProblem::kListContraction});
  EXPECT_EQ(contracted.size, 3U);
  EXPECT_EQ(contracted.left_out, 0U);
  const Rows last(contracted.rows.end() - 3, contracted.rows.end());
  EXPECT_EQ(last, (Rows{1000, 1000, 1000}));

  const Solution shuffled = solve(graph, {.problem = SolveProblem::kShuffle});
  EXPECT_NE(shuffled.rows, graph.names);
  EXPECT_EQ(std::set(shuffled.rows.begin(), shuffled.rows.end()),
            std::set(graph.names.begin(), graph.names.end()));
}

// 0, 1, 2 are a triangle, and 3 hangs on 0.
TEST(Solve, TakesPrioritiesFromDegreesAndFiles) {
  const NamedEdges graph = parse_edge_list("0 1\n1 2\n2 0\n0 3\n", "graph");
  const auto chosen = [&](SolveProblem problem, const std::string& priority) {
    return solve(graph, {.problem = problem, .priority = priority}).rows;
  };
  using enum SolveProblem;
  EXPECT_EQ(chosen(kIndependentSet, "high-degree"), (Rows{0}));
  EXPECT_EQ(chosen(kIndependentSet, "low-degree").back(), 3U);
  EXPECT_EQ(chosen(kMatching, "low-degree"), (Rows{0, 3, 1, 2}));

  const weft::test::TemporaryFolder folder;
  const std::string vertices = (folder.path() / "vertices").string();
  write_file(vertices, "2\n1\n0\n3\n");
  EXPECT_EQ(chosen(kIndependentSet, "file:" + vertices), (Rows{2, 3}));
  EXPECT_EQ(chosen(kColouring, "file:" + vertices),
            (Rows{0, 2, 1, 1, 2, 0, 3, 0}));
  const std::string edges = (folder.path() / "edges").string();
  write_file(edges, "1 0\n0 3\n0 2\n2 1\n");
  EXPECT_EQ(chosen(kMatching, "file:" + edges), (Rows{0, 1}));
}

TEST(Solve, RefusesPrioritiesThatDoNotFit) {
  const NamedEdges graph = parse_edge_list("0 1\n1 2\n", "graph");
  const weft::test::TemporaryFolder folder;
  const std::string path = (folder.path() / "order").string();
  const auto refuses = [&](ErrorCode code, const SolveOptions& options,
                           std::initializer_list<std::string> parts) {
    expect_error(code, parts, [&] { solve(graph, options); });
  };
  const auto refuses_file = [&](SolveProblem problem, std::string_view text,
                                std::initializer_list<std::string> parts) {
    write_file(path, text);
    refuses(ErrorCode::kDataLoss,
            {.problem = problem, .priority = "file:" + path}, parts);
  };
  using enum SolveProblem;
  refuses_file(kColouring, "0\n7\n1\n", {"entry 2"});
  refuses_file(kColouring, "0\n1\n0\n", {"entries 1 and 3"});
  refuses_file(kColouring, "0\n1\n", {"2 entries for 3"});
  refuses_file(kColouring, "0\n1 2\n", {"order:2"});
  refuses_file(kMatching, "2 1\n0 2\n", {"entry 2"});
  refuses_file(kMatching, "2 1\n1 2\n", {"entries 1 and 2"});
  refuses(ErrorCode::kUnavailable, {.priority = "file:/none"}, {"/none"});
  refuses(ErrorCode::kInvalidArgument, {.priority = "degree"}, {"low-degree"});
  refuses(ErrorCode::kInvalidArgument,
          {.problem = kListContraction, .priority = "low-degree"}, {"random"});
  refuses(ErrorCode::kInvalidArgument,
          {.problem = kShuffle, .priority = "low-degree"}, {"--seed"});
}

TEST(Solve, RefusesListsThatBranch) {
  const auto refuses = [](std::string_view text, const std::string& part) {
    const NamedEdges graph = parse_edge_list(text, "graph");
    expect_error(ErrorCode::kDataLoss, {part}, [&] {
      solve(graph, {.problem = SolveProblem::kListContraction});
    });
  };
  refuses("5 6\n5 7\n", "vertex 5 is followed by both 6 and 7");
  refuses("6 5\n7 5\n", "vertex 5 follows both 6 and 7");
}

TEST(Scheduler, RefusesOptionsThatItDoesNotHave) {
  const auto refuses = [](const SchedulerOptions& options,
                          const std::string& part) {
    expect_error(ErrorCode::kInvalidArgument, {part},
                 [&] { resolved(options, 100); });
  };
  refuses({.relaxation = 4}, "'multiqueue' has no relaxation");
  refuses({.kind = SchedulerKind::kTopK, .queues = 4}, "'topk' has no queues");
  refuses({.kind = SchedulerKind::kHeap, .prefix = 4}, "'heap' has no prefix");
  refuses({.kind = SchedulerKind::kInOrder, .threads = 2}, "sequential");
  refuses({.threads = 0}, "0 threads");
  refuses({.queues = -1}, "queues is -1");
  EXPECT_THROW(scheduler_kind("best"), Error);
  EXPECT_EQ(resolved({.threads = 3}, 100).queues, 12);
  EXPECT_EQ(resolved({.kind = SchedulerKind::kRounds}, 1000).prefix, 21U);
}

// What is wrong in one place is found, wherever that is.
TEST(Certificates, OfAContractionRejectAnyOtherNeighbour) {
  using List = ListContraction<>;
  const std::vector<Task> successor = {1, 2, List::kEnd, 4, 3, 5};
  const Order order = random_order(6, 2);
  List list(successor, order);
  run_in_order(list);
  const auto right = list.contracted();
  EXPECT_TRUE(is_contraction(successor, order, right));
  for (Task rank = 0; rank < 6; ++rank)
    for (const Task other : {Task{0}, Task{3}, Task{5}, Task{6}, List::kEnd})
      for (const auto side :
           {&List::Neighbours::before, &List::Neighbours::after}) {
        auto wrong = right;
        if (wrong[rank].*side == other) continue;
        wrong[rank].*side = other;
        EXPECT_FALSE(is_contraction(successor, order, wrong))
            << rank << ", " << other;
      }
  EXPECT_FALSE(is_contraction(successor, random_order(6, 3), right));
}

TEST(Certificates, OfAShuffleRejectAnyOtherPermutation) {
  const std::vector<Task> targets = shuffle_targets(50, 3);
  Shuffle<> shuffle(targets);
  run_in_order(shuffle);
  std::vector<Task> cells = shuffle.cells();
  EXPECT_TRUE(is_shuffle(targets, cells));
  std::swap(cells[7], cells[31]);
  EXPECT_FALSE(is_shuffle(targets, cells));
  std::iota(cells.begin(), cells.end(), 0);
  EXPECT_FALSE(is_shuffle(targets, cells));
}

}  // namespace
}  // namespace weft::concurrent::solve_test
