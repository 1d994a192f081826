#include "weft/concurrent/iterative/solve.h"

#include <algorithm>
#include <fmt/ranges.h>
#include <span>
#include <utility>

#include "weft/base/error.h"
#include "weft/base/stopwatch.h"
#include "weft/concurrent/iterative/certificates.h"
#include "weft/concurrent/iterative/colouring.h"
#include "weft/concurrent/iterative/graph.h"
#include "weft/concurrent/iterative/independent_set.h"
#include "weft/concurrent/iterative/list_contraction.h"
#include "weft/concurrent/iterative/matching.h"
#include "weft/concurrent/iterative/order.h"
#include "weft/concurrent/iterative/shuffle.h"

namespace weft::concurrent {
namespace {

constexpr std::string_view kFilePrefix = "file:";
constexpr Task kNone = ~Task{0};

// --- Orders of priority -----------------------------------------------------

Error unknown_priority(const std::string& priority, const char* known) {
  return Error(ErrorCode::kInvalidArgument, "priority", "there is no '{}' here",
               priority)
      .hint(known);
}

// Tasks go by number of neighbours, and ties are broken at random.
Order degree_order(std::span<const std::uint32_t> degrees, bool is_low_first,
                   std::uint64_t seed) {
  const Order ties = random_order(static_cast<Task>(degrees.size()), seed);
  std::vector<std::uint64_t> labels(degrees.size());
  for (std::size_t task = 0; task < degrees.size(); ++task) {
    // The complement turns the order round without another comparison. Degree
    // and random rank share a word, so that one sort does both.
    const std::uint32_t degree = is_low_first ? degrees[task] : ~degrees[task];
    labels[task] = std::uint64_t{degree} << 32U | ties.rank_of[task];
  }
  return order_by_label(labels);
}

// The tasks that the lines of a file name, in its order; kNone for a line that
// names none.
Order listed_order(std::vector<Task> listed, Task tasks,
                   const std::string& path) {
  Order order{std::vector<Task>(tasks, kNone), std::move(listed)};
  for (Task rank = 0; rank < order.at_rank.size(); ++rank) {
    const Task task = order.at_rank[rank];
    if (task == kNone)
      throw Error(ErrorCode::kDataLoss, path, "entry {} is not in the graph",
                  rank + 1);
    // A task without a rank yet has kNone, so the table itself finds repeats.
    if (order.rank_of[task] != kNone)
      throw Error(ErrorCode::kDataLoss, path, "entries {} and {} are the same",
                  order.rank_of[task] + 1, rank + 1);
    order.rank_of[task] = rank;
  }
  if (order.at_rank.size() != tasks)
    throw Error(ErrorCode::kDataLoss, path, "it has {} entries for {} tasks",
                order.at_rank.size(), tasks)
        .hint("each vertex, or each edge of a matching, stands there once");
  return order;
}

Vertex vertex_of(const NamedEdges& graph, std::uint64_t name) {
  const auto found =
      std::lower_bound(graph.names.begin(), graph.names.end(), name);
  return found != graph.names.end() && *found == name
             ? static_cast<Vertex>(found - graph.names.begin())
             : kNone;
}

Order listed_vertices(const NamedEdges& graph, const std::string& path) {
  std::vector<Task> listed;
  for (const std::uint64_t name : read_vertex_list(path))
    listed.push_back(vertex_of(graph, name));
  return listed_order(std::move(listed), graph.vertices(), path);
}

// `edges` are simple_edges().
Order listed_edges(const NamedEdges& graph, std::span<const Edge> edges,
                   const std::string& path) {
  const NamedEdges file = read_edge_list(path);
  const auto key = [](const Edge& edge) {
    return std::pair(std::min(edge.a, edge.b), std::max(edge.a, edge.b));
  };
  std::vector<Task> listed;
  // This file counts its vertices for itself, so only names tie it to the
  // graph. An end that the graph lacks is kNone, which no edge has.
  for (const auto& [a, b] : file.edges) {
    const Edge wanted{vertex_of(graph, file.names[a]),
                      vertex_of(graph, file.names[b])};
    const auto found = std::lower_bound(
        edges.begin(), edges.end(), wanted,
        [&](const Edge& x, const Edge& y) { return key(x) < key(y); });
    const bool is_there = found != edges.end() && key(*found) == key(wanted);
    listed.push_back(is_there ? static_cast<Task>(found - edges.begin())
                              : kNone);
  }
  return listed_order(std::move(listed), static_cast<Task>(edges.size()), path);
}

// `listed` makes an order of a path; `degrees` are the tasks', or null where
// they have none.
template <class Listed>
Order order_of(const SolveOptions& options, Task tasks,
               const std::vector<std::uint32_t>* degrees, Listed&& listed) {
  const std::string& priority = options.priority;
  const std::uint64_t seed = options.scheduler.seed;
  // A file and a random order need no degrees, so they come before the test for
  // those.
  if (priority.starts_with(kFilePrefix))
    return listed(priority.substr(kFilePrefix.size()));
  if (priority == "random") return random_order(tasks, seed);
  const bool is_low_first = priority == "low-degree";
  if (degrees == nullptr)
    throw unknown_priority(priority, "random or file:PATH");
  if (!is_low_first && priority != "high-degree")
    throw unknown_priority(priority,
                           "random, low-degree, high-degree or file:PATH");
  return degree_order(*degrees, is_low_first, seed);
}

std::vector<std::uint32_t> degrees_of(const Graph& graph) {
  std::vector<std::uint32_t> degrees(graph.vertices());
  for (Vertex v = 0; v < graph.vertices(); ++v)
    degrees[v] = static_cast<std::uint32_t>(graph.neighbours(v).size());
  return degrees;
}

// --- The problems -----------------------------------------------------------

template <IterativeProblem Problem>
void run(Problem& problem, const SolveOptions& options, Solution& solution) {
  solution.tasks = problem.tasks();
  solution.scheduler = resolved(options.scheduler, problem.tasks());
  // The time is that of the scheduler alone, which is what schedulers are
  // compared by; making the order and checking the result stay outside.
  const Stopwatch watch;
  solution.counts = run_scheduled(problem, options.scheduler);
  solution.seconds = watch.seconds();
}

// The graph and its vertices in order, for what is solved vertex by vertex.
struct Ranked {
  Ranked(const NamedEdges& named, const SolveOptions& options,
         Solution& solution) {
    const std::vector<Edge> edges = simple_edges(named.edges);
    solution.edges = edges.size();
    solution.left_out = named.edges.size() - edges.size();
    graph = Graph(named.vertices(), edges);
    const std::vector<std::uint32_t> degrees = degrees_of(graph);
    order = order_of(
        options, named.vertices(), &degrees,
        [&](const std::string& path) { return listed_vertices(named, path); });
    // Vertices take their ranks as names, so that "earlier" is one comparison
    // of numbers in the problems.
    graph = graph.renamed(order.rank_of);
  }

  Graph graph{0, {}};
  Order order;
};

void solve_independent_set(const NamedEdges& named, const SolveOptions& options,
                           Solution& solution) {
  const Ranked ranked(named, options, solution);
  IndependentSet<> set(ranked.graph);
  run(set, options, solution);
  const std::vector<std::uint8_t> chosen = set.chosen();
  solution.is_certified = is_greedy_independent_set(ranked.graph, chosen);
  const auto by_vertex = ranked.order.by_task(chosen);
  for (Vertex v = 0; v < named.vertices(); ++v)
    if (by_vertex[v] != 0) solution.rows.push_back(named.names[v]);
  solution.size = solution.rows.size();
}

void solve_colouring(const NamedEdges& named, const SolveOptions& options,
                     Solution& solution) {
  const Ranked ranked(named, options, solution);
  Colouring<> colouring(ranked.graph, options.scheduler.threads);
  run(colouring, options, solution);
  const std::vector<std::uint32_t> colours = colouring.colours();
  solution.is_certified = is_greedy_colouring(ranked.graph, colours);
  const auto by_vertex = ranked.order.by_task(colours);
  solution.columns = 2;
  for (Vertex v = 0; v < named.vertices(); ++v)
    solution.rows.insert(solution.rows.end(), {named.names[v], by_vertex[v]});
  // An edge list without edges is refused when it is read, so there is a
  // colour.
  solution.size = *std::max_element(colours.begin(), colours.end()) + 1;
}

void solve_matching(const NamedEdges& named, const SolveOptions& options,
                    Solution& solution) {
  const std::vector<Edge> edges = simple_edges(named.edges);
  solution.edges = edges.size();
  solution.left_out = named.edges.size() - edges.size();
  const std::vector<std::uint32_t> of_ends =
      degrees_of(Graph(named.vertices(), edges));
  std::vector<std::uint32_t> degrees;
  // An edge competes with those at both of its ends.
  for (const auto& [a, b] : edges) degrees.push_back(of_ends[a] + of_ends[b]);
  const Order order = order_of(options, static_cast<Task>(edges.size()),
                               &degrees, [&](const std::string& path) {
                                 return listed_edges(named, edges, path);
                               });
  const RankedEdges ranked(named.vertices(), edges, order);
  Matching<> matching(ranked);
  run(matching, options, solution);
  const std::vector<std::uint8_t> taken = matching.taken();
  solution.is_certified = is_greedy_matching(ranked, taken);
  const auto by_edge = order.by_task(taken);
  solution.columns = 2;
  for (std::size_t i = 0; i < edges.size(); ++i)
    if (by_edge[i] != 0)
      solution.rows.insert(solution.rows.end(),
                           {named.names[edges[i].a], named.names[edges[i].b]});
  solution.size = solution.rows.size() / 2;
}

// Whom each vertex is followed by.
std::vector<Task> successors_of(const NamedEdges& named) {
  std::vector<Task> successor(named.vertices(), kNone);
  std::vector<Task> before(named.vertices(), kNone);
  const auto once = [&](std::vector<Task>& links, Vertex at, Vertex other,
                        const char* relation) {
    if (links[at] != kNone)
      throw Error(ErrorCode::kDataLoss, "list-contraction",
                  "vertex {} {} both {} and {}", named.names[at], relation,
                  named.names[links[at]], named.names[other])
          .hint("an edge \"u v\" says that v follows u; lists do not branch");
    links[at] = other;
  };
  // Both directions are checked: a node may neither have two successors nor be
  // the successor of two.
  for (const auto& [a, b] : named.edges) {
    once(successor, a, b, "is followed by");
    once(before, b, a, "follows");
  }
  return successor;
}

void solve_list_contraction(const NamedEdges& named,
                            const SolveOptions& options, Solution& solution) {
  using List = ListContraction<>;
  const std::vector<Task> successor = successors_of(named);
  solution.edges = named.edges.size();
  const Order order = order_of(
      options, named.vertices(), nullptr,
      [&](const std::string& path) { return listed_vertices(named, path); });
  List list(successor, order);
  run(list, options, solution);
  const std::vector<List::Neighbours> contracted = list.contracted();
  solution.is_certified = is_contraction(successor, order, contracted);
  const auto by_node = order.by_task(contracted);
  const auto name_of = [&](Task rank) {
    return rank == List::kEnd ? Solution::kNobody
                              : named.names[order.at_rank[rank]];
  };
  solution.columns = 3;
  for (Vertex node = 0; node < named.vertices(); ++node) {
    const auto [before, after] = by_node[node];
    solution.rows.insert(solution.rows.end(),
                         {named.names[node], name_of(before), name_of(after)});
    // The last one of a list stands alone: between nobody, or, where it was a
    // ring, between itself and itself.
    solution.size += before == after &&
                     (before == List::kEnd || before == order.rank_of[node]);
  }
}

void solve_shuffle(const NamedEdges& named, const SolveOptions& options,
                   Solution& solution) {
  if (options.priority != "random")
    // Cell i swaps with one of the cells up to it, so the order of the cells is
    // part of the algorithm.
    throw unknown_priority(options.priority,
                           "a shuffle's cells come in their own order; --seed "
                           "chooses the permutation");
  solution.edges = named.edges.size();
  const std::vector<Task> targets =
      shuffle_targets(named.vertices(), options.scheduler.seed);
  Shuffle<> shuffle(targets);
  run(shuffle, options, solution);
  solution.is_certified = is_shuffle(targets, shuffle.cells());
  for (const Task vertex : shuffle.cells())
    solution.rows.push_back(named.names[vertex]);
  solution.size = solution.rows.size();
}

}  // namespace

const std::vector<std::string>& solve_problem_names() {
  static const std::vector<std::string> names = {"mis", "matching", "colouring",
                                                 "list-contraction", "shuffle"};
  return names;
}

std::string_view to_string(SolveProblem problem) {
  return solve_problem_names()[static_cast<std::size_t>(problem)];
}

SolveProblem solve_problem(std::string_view name) {
  const auto& names = solve_problem_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    throw Error(ErrorCode::kInvalidArgument, "solve",
                "there is no problem '{}'", name)
        .hint(fmt::format("one of {}", fmt::join(names, ", ")));
  return static_cast<SolveProblem>(found - names.begin());
}

Solution solve(const NamedEdges& graph, const SolveOptions& options) {
  // It complains of the options before it works for long.
  // The number of tasks decides a default alone, so vertices do for edges.
  resolved(options.scheduler, graph.vertices());
  Solution solution;
  solution.vertices = graph.vertices();
  switch (options.problem) {
    case SolveProblem::kIndependentSet:
      solve_independent_set(graph, options, solution);
      break;
    case SolveProblem::kMatching:
      solve_matching(graph, options, solution);
      break;
    case SolveProblem::kColouring:
      solve_colouring(graph, options, solution);
      break;
    case SolveProblem::kListContraction:
      solve_list_contraction(graph, options, solution);
      break;
    case SolveProblem::kShuffle:
      solve_shuffle(graph, options, solution);
      break;
  }
  return solution;
}

}  // namespace weft::concurrent
