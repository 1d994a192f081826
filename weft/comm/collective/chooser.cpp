#include "weft/comm/collective/chooser.h"

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>

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

// What was chosen for a network and a size, which is a function of these: ranks
// of a process that are many, as simulated ones, need not predict it each.
class Choices {
 public:
  const AllReduce* find(const Topology& topology, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find({to_string(topology), bytes});
    // A map keeps the addresses of its elements, and none is taken out.
    return found == known_.end() ? nullptr : &found->second;
  }
  const AllReduce& add(const Topology& topology, std::size_t bytes,
                       const AllReduce& chosen) {
    const std::lock_guard lock(mutex_);
    return known_.try_emplace({to_string(topology), bytes}, chosen)
        .first->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, std::size_t>, AllReduce> known_;
};

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

const AllReduce& AllReduceChooser::choose(std::size_t bytes) const {
  static Choices choices;
  // Buckets of nearly the same size share a choice, and the predictions for it.
  const std::size_t rounded = std::bit_ceil(bytes);
  if (const AllReduce* known = choices.find(topology_, rounded)) return *known;
  const std::vector<Candidate> found = candidates(rounded);
  const auto ring = std::ranges::find_if(found, [&](const Candidate& each) {
    return each.algorithm.name() == "ring" && !each.declined &&
           each.seconds <= (1 + kAlike) * found.front().seconds;
  });
  // Ranks are alike on a single level only; elsewhere the model alone decides.
  const bool takes_ring = topology_.levels.size() == 1 && ring != found.end();
  const Candidate& chosen = takes_ring ? *ring : found.front();
  return choices.add(topology_, rounded, chosen.algorithm);
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
