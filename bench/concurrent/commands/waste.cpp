// weft-concurrent-bench waste (--vertices N --edges M | --edge-list FILE)
// --windows 4,8,… --runs R --generic-runs G --scheduler uniform|multiqueue: the
// tries that relaxed scheduling wastes, by window k (or by number of queues),
// for the independent set and for the generic framework (colouring). Means and
// their standard errors over R random orders, of which the generic framework
// runs the first G; what is computed is checked. "late_dead" is the share of
// the last hundredth of an order that is not in the set.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "bench/concurrent/command.h"
#include "bench/concurrent/sample_graph.h"

#include "weft/concurrent/iterative/certificates.h"
#include "weft/concurrent/iterative/colouring.h"
#include "weft/concurrent/iterative/independent_set.h"
#include "weft/concurrent/iterative/relaxed_run.h"
#include "weft/concurrent/queue/locked_queue.h"
#include "weft/concurrent/queue/multi_queue.h"

namespace weft {
namespace {

using namespace concurrent;
using Json = nlohmann::json;

std::vector<int> numbers(const std::string& list) {
  std::vector<int> found;
  for (std::size_t begin = 0; begin < list.size();) {
    std::size_t length = 0;
    found.push_back(std::stoi(list.substr(begin), &length));
    begin += length + 1;
  }
  return found;
}

template <class Problem>
double waste_of(Problem& problem, int window, std::uint64_t seed,
                bool is_uniform) {
  if (is_uniform) {
    UniformQueue<Task> queue({window, seed});
    return static_cast<double>(run_relaxed(problem, queue, 1).blocked);
  }
  MultiQueue<Task> queue({.queues = window, .stickiness = 1, .seed = seed});
  return static_cast<double>(run_relaxed(problem, queue, 1).blocked);
}

Json summary(const std::vector<double>& values) {
  if (values.empty()) return nullptr;
  double sum = 0;
  double squares = 0;
  for (const double value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  for (const double value : values) squares += (value - mean) * (value - mean);
  const auto n = static_cast<double>(values.size());
  return {{"mean", mean},
          {"error", n > 1 ? std::sqrt(squares / (n - 1) / n) : 0}};
}

// Vertices are named by their rank.
double late_dead(const std::vector<std::uint8_t>& chosen) {
  const std::size_t late = (chosen.size() + 99) / 100;
  const auto dead = std::count(chosen.end() - static_cast<std::ptrdiff_t>(late),
                               chosen.end(), std::uint8_t{0});
  return static_cast<double>(dead) / static_cast<double>(late);
}

void waste(const bench::WorkerOptions& options) {
  const bool is_uniform = options.text("scheduler") == "uniform";
  const auto runs = static_cast<std::uint64_t>(options.integer("runs"));
  const auto generic_runs =
      static_cast<std::uint64_t>(options.integer("generic-runs"));
  const std::vector<int> windows = numbers(options.text("windows"));
  std::vector<std::vector<double>> sets(windows.size());
  std::vector<std::vector<double>> generics(windows.size());
  std::vector<double> dead;
  bench::SampleGraph sample = bench::sample_graph(options, 1);
  const std::size_t edges = sample.edges.size();
  const Graph graph(sample.vertices, sample.edges);
  sample.edges = {};
  for (std::uint64_t run = 0; run < runs; ++run) {
    const Graph ranked =
        graph.renamed(random_order(graph.vertices(), run).rank_of);
    for (std::size_t i = 0; i < windows.size(); ++i) {
      IndependentSet<> set(ranked);
      sets[i].push_back(waste_of(set, windows[i], run, is_uniform));
      const std::vector<std::uint8_t> chosen = set.chosen();
      WEFT_CHECK(is_greedy_independent_set(ranked, chosen));
      if (i == 0) dead.push_back(late_dead(chosen));
      if (run >= generic_runs) continue;
      Colouring<> colouring(ranked, 1);
      generics[i].push_back(waste_of(colouring, windows[i], run, is_uniform));
      WEFT_CHECK(is_greedy_colouring(ranked, colouring.colours()));
    }
  }
  Json cells = Json::array();
  for (std::size_t i = 0; i < windows.size(); ++i)
    cells.push_back({{"window", windows[i]},
                     {"set", summary(sets[i])},
                     {"generic", summary(generics[i])}});
  fmt::print("{}\n", Json{{"vertices", graph.vertices()},
                          {"edges", edges},
                          {"late_dead", summary(dead)},
                          {"cells", cells}}
                         .dump());
}

}  // namespace

void register_concurrent_waste(ConcurrentCommandRegistry& registry) {
  registry.add({"waste", waste});
}

}  // namespace weft
