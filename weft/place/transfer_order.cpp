#include "weft/place/transfer_order.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <tuple>

#include "weft/base/error.h"

namespace weft {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Transfers, in ascending order.
using TransferSet = std::vector<std::size_t>;

// Computations that depend on the same transfers, directly or through others.
struct DependentWork {
  double seconds = 0;
  // The number of the first of them: what is nearer to the beginning breaks
  // ties.
  std::size_t first = 0;
};
using WorkOfSets = std::map<TransferSet, DependentWork>;

// The paper's dep(op), in one pass: a computation comes after its predecessors.
WorkOfSets work_of_sets(const TransferGraph& graph) {
  std::vector<TransferSet> sets;
  WorkOfSets work;
  for (const TransferGraph::Computation& computation : graph.computations) {
    TransferSet set = computation.transfers;
    for (const std::size_t before : computation.predecessors) {
      WEFT_CHECK(before < sets.size(), "predecessors come first");
      set.insert(set.end(), sets[before].begin(), sets[before].end());
    }
    std::ranges::sort(set);
    set.erase(std::ranges::unique(set).begin(), set.end());
    auto [found, is_new] = work.try_emplace(set);
    if (is_new) found->second.first = sets.size();
    found->second.seconds += computation.seconds;
    sets.push_back(std::move(set));
  }
  return work;
}

// What the paper asks of each transfer that is outstanding.
struct Properties {
  double alone = 0;          // P: computing that it alone lets run
  double together = kNever;  // M+: the cheapest set with it that does so
};

std::vector<Properties> properties_of(const WorkOfSets& work,
                                      std::span<const double> transfers,
                                      const std::vector<bool>& outstanding) {
  std::vector<Properties> properties(transfers.size());
  TransferSet left;
  for (const auto& [set, dependent] : work) {
    left.clear();
    std::ranges::copy_if(set, std::back_inserter(left),
                         [&](std::size_t t) { return outstanding[t]; });
    if (left.size() == 1) properties[left[0]].alone += dependent.seconds;
    if (left.size() < 2) continue;
    double seconds = 0;
    for (const std::size_t t : left) seconds += transfers[t];
    for (const std::size_t t : left) {
      properties[t].together = std::min(properties[t].together, seconds);
    }
  }
  return properties;
}

// The first computation that depends on each transfer.
std::vector<std::size_t> first_readers(const WorkOfSets& work,
                                       std::size_t transfers) {
  std::vector<std::size_t> readers(transfers,
                                   std::numeric_limits<std::size_t>::max());
  for (const auto& [set, dependent] : work) {
    for (const std::size_t t : set) {
      readers[t] = std::min(readers[t], dependent.first);
    }
  }
  return readers;
}

// Johnson's rule for two machines (1954), which the paper's comparison of two
// transfers comes to, as a strict order: its own form, min(P_B, M_A) <
// min(P_A, M_B), is not transitive where times are equal.
auto rank_by_time(double seconds, const Properties& properties,
                  std::size_t first_reader) {
  const bool is_short = seconds <= properties.alone;
  return std::tuple(!is_short, is_short ? seconds : -properties.alone,
                    properties.together, first_reader);
}

// The order in which the channel carries transfers.
std::vector<std::size_t> by_place(std::span<const std::size_t> places) {
  std::vector<std::size_t> order(places.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t t) { return places[t]; });
  return order;
}

}  // namespace

std::vector<std::size_t> timing_independent_order(const TransferGraph& graph) {
  const std::size_t count = graph.transfers.size();
  const auto properties =
      properties_of(work_of_sets(graph), std::vector<double>(count, 1.0),
                    std::vector<bool>(count, true));
  std::vector<std::size_t> places(count);
  // Equals share the place of the first of them.
  for (std::size_t t = 0; t < count; ++t) {
    places[t] = static_cast<std::size_t>(
        std::ranges::count_if(properties, [&](const Properties& other) {
          return other.together < properties[t].together;
        }));
  }
  return places;
}

std::vector<std::size_t> timing_aware_order(const TransferGraph& graph) {
  const std::size_t count = graph.transfers.size();
  const WorkOfSets work = work_of_sets(graph);
  const std::vector<std::size_t> readers = first_readers(work, count);
  std::vector<bool> outstanding(count, true);
  std::vector<std::size_t> places(count);
  for (std::size_t place = 0; place < count; ++place) {
    const auto properties = properties_of(work, graph.transfers, outstanding);
    std::size_t best = count;
    for (std::size_t t = 0; t < count; ++t) {
      if (!outstanding[t]) continue;
      const auto rank = [&](std::size_t of) {
        return rank_by_time(graph.transfers[of], properties[of], readers[of]);
      };
      if (best == count || rank(t) < rank(best)) best = t;
    }
    places[best] = place;
    outstanding[best] = false;
  }
  return places;
}

TransferSchedule schedule_of(const TransferGraph& graph,
                             std::span<const std::size_t> places) {
  WEFT_CHECK(places.size() == graph.transfers.size(), "one place for each");
  const std::size_t count = graph.computations.size();
  std::vector<double> arrives(places.size());
  double carried = 0;
  for (const std::size_t t : by_place(places)) {
    carried += graph.transfers[t];
    arrives[t] = carried;
  }
  // When all that a computation reads has come, and what runs after it.
  std::vector<double> ready(count, 0);
  std::vector<std::size_t> missing(count, 0);
  std::vector<std::vector<std::size_t>> successors(count);
  double computed = 0;
  for (std::size_t c = 0; c < count; ++c) {
    const TransferGraph::Computation& computation = graph.computations[c];
    computed += computation.seconds;
    missing[c] = computation.predecessors.size();
    for (const std::size_t before : computation.predecessors) {
      successors[before].push_back(c);
    }
    for (const std::size_t t : computation.transfers) {
      ready[c] = std::max(ready[c], arrives[t]);
    }
  }
  // Those that cannot run yet stand in the order of when they can, the others
  // in that of their numbers.
  using Waiting = std::pair<double, std::size_t>;
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting;
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>>
      runnable;
  for (std::size_t c = 0; c < count; ++c) {
    if (missing[c] == 0) waiting.emplace(ready[c], c);
  }
  double now = 0;
  while (!waiting.empty() || !runnable.empty()) {
    if (runnable.empty()) now = std::max(now, waiting.top().first);
    while (!waiting.empty() && waiting.top().first <= now) {
      runnable.push(waiting.top().second);
      waiting.pop();
    }
    const std::size_t c = runnable.top();
    runnable.pop();
    now += graph.computations[c].seconds;
    for (const std::size_t after : successors[c]) {
      if (--missing[after] == 0) waiting.emplace(ready[after], after);
    }
  }
  return {.makespan = std::max(now, carried),
          .total = carried + computed,
          .bound = std::max(carried, computed)};
}

}  // namespace weft
