#include "weft/comm/collective/chooser.h"

#include <algorithm>
#include <bit>

namespace weft {
namespace {

// Predictions that differ by less say nothing.
constexpr double kAlike = 0.01;

using Candidate = AllReduceChooser::Candidate;

// Seconds as float: where sums of the same terms differ by rounding alone, the
// order of variants() stands.
bool comes_before(const Candidate& a, const Candidate& b) {
  if (a.declined.has_value() != b.declined.has_value()) return !a.declined;
  return static_cast<float>(a.seconds) < static_cast<float>(b.seconds);
}

}  // namespace

AllReduceChooser::AllReduceChooser(Topology topology)
    : topology_(std::move(topology)) {}

std::vector<AllReduceChooser::Candidate> AllReduceChooser::candidates(
    std::size_t bytes) const {
  std::vector<Candidate> result;
  for (const AllReduceDef& def : all_reduce_registry().all()) {
    for (const Options& options : def.variants(topology_)) {
      Candidate candidate{AllReduce(def, options), 0, std::nullopt};
      candidate.declined = candidate.algorithm.declines(topology_);
      if (!candidate.declined) {
        candidate.seconds =
            candidate.algorithm.seconds(topology_, static_cast<double>(bytes));
      }
      result.push_back(std::move(candidate));
    }
  }
  std::ranges::stable_sort(result, comes_before);
  return result;
}

const AllReduce& AllReduceChooser::choose(std::size_t bytes) {
  // Buckets of nearly the same size share a choice, and the predictions for it.
  const std::size_t rounded = std::bit_ceil(bytes);
  const auto known = chosen_.find(rounded);
  if (known != chosen_.end()) return known->second;
  const std::vector<Candidate> found = candidates(rounded);
  const auto ring = std::ranges::find_if(found, [&](const Candidate& each) {
    return each.algorithm.name() == "ring" && !each.declined &&
           each.seconds <= (1 + kAlike) * found.front().seconds;
  });
  // Ranks are alike on a single level only; elsewhere the model alone decides.
  const bool takes_ring = topology_.levels.size() == 1 && ring != found.end();
  const Candidate& chosen = takes_ring ? *ring : found.front();
  return chosen_.emplace(rounded, chosen.algorithm).first->second;
}

std::string AllReduceChooser::explain(std::size_t bytes,
                                      std::size_t most) const {
  std::string table =
      fmt::format("all-reduce of {} bytes over {}\n{:>12}  {}\n", bytes,
                  to_string(topology_), "predicted ms", "algorithm");
  std::size_t shown = 0;
  for (const Candidate& candidate : candidates(bytes)) {
    if (candidate.declined) {
      table += fmt::format("{:>12}  {} declines {}, because {}\n", "-",
                           candidate.algorithm.text(), candidate.declined->what,
                           candidate.declined->because);
    } else if (shown++ < most) {
      table += fmt::format("{:>12.4g}  {}\n", candidate.seconds * 1e3,
                           candidate.algorithm.text());
    }
  }
  return table;
}

}  // namespace weft
