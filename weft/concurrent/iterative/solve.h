// Solves a problem of this folder on a graph from a file, by the scheduler that
// is asked for, and checks the result: what `weft solve` does.
//
//   const NamedEdges graph = read_edge_list("email-Enron.txt.gz");
//   const Solution found = solve(graph, {.problem = SolveProblem::kMatching,
//                                        .scheduler = {.threads = 2}});
//   found.size, found.counts.blocked, found.is_certified
//
// The solution is a function of the graph, the problem, the priority and the
// seed; only what it cost depends on the scheduler and the threads.
//
// Threads: may be called from any thread; each call starts its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/concurrent/iterative/edge_list.h"
#include "weft/concurrent/iterative/problem.h"
#include "weft/concurrent/iterative/scheduler.h"

namespace weft::concurrent {

enum class SolveProblem : std::uint8_t {
  kIndependentSet,   // "mis": a maximal set of vertices without an edge
  kMatching,         // "matching": a maximal set of edges without a common end
  kColouring,        // "colouring": the smallest colour that is left, for each
  kListContraction,  // "list-contraction": "u v" says that v follows u
  kShuffle,          // "shuffle": a random order of the vertices
};

const std::vector<std::string>& solve_problem_names();
std::string_view to_string(SolveProblem problem);
// Throws Error(kInvalidArgument) for a name that is none.
SolveProblem solve_problem(std::string_view name);

struct SolveOptions {
  SolveProblem problem = SolveProblem::kIndependentSet;
  // Its seed is that of random priorities too.
  SchedulerOptions scheduler = {};
  // Which tasks come first. Tasks are vertices, and edges in a matching.
  //   random       the default
  //   low-degree   those of few neighbours, ties at random; an edge has those
  //                of both ends
  //   high-degree  those of many
  //   file:PATH    a line for each task, the first one first: the vertex, or
  //                the edge's two ends in either order; each exactly once
  // Lists are contracted at random or by a file, and a shuffle has no choice.
  std::string priority = "random";
};

struct Solution {
  static constexpr std::uint64_t kNobody = ~std::uint64_t{0};

  Vertex vertices = 0;
  // Without those from a vertex to itself and repeated ones, where the graph is
  // undirected; `left_out` counts these.
  std::size_t edges = 0;
  std::size_t left_out = 0;

  SchedulerOptions scheduler = {};  // as it was run, without zeros
  Task tasks = 0;
  RunCounts counts;
  double seconds = 0;  // of the run; reading, ordering and checking are extra

  // Vertices of the set, edges of the matching, colours, lists, vertices of the
  // shuffle.
  std::uint64_t size = 0;
  // Whether it is the sequential algorithm's for this order (certificates.h).
  bool is_certified = false;

  // The solution by names, `columns` to a row: vertices of the set; ends of
  // matched edges; vertices and their colours; nodes and whom they stood
  // between when they went, or kNobody; vertices in their new order.
  std::size_t columns = 1;
  std::vector<std::uint64_t> rows;
};

// Throws Error(kInvalidArgument) for options that do not go together,
// Error(kDataLoss) for a file of priorities that does not fit the graph, and
// for lists that branch.
Solution solve(const NamedEdges& graph, const SolveOptions& options);

}  // namespace weft::concurrent
