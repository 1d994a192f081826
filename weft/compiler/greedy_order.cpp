#include "weft/compiler/greedy_order.h"

#include <algorithm>
#include <limits>
#include <set>

namespace weft {
namespace {

using Version = OrderMemory::Version;

constexpr std::size_t kNoVersion = std::numeric_limits<std::size_t>::max();

// Peaks are compared first, and how often they are reached where they are the
// same: so each choice comes nearer to an end.
struct Peak {
  std::size_t bytes = 0;
  std::size_t positions = 0;
  std::size_t first = 0;

  explicit Peak(const std::vector<std::size_t>& profile) {
    for (std::size_t i = 0; i < profile.size(); ++i) {
      if (profile[i] > bytes) {
        bytes = profile[i];
        positions = 0;
        first = i;
      }
      positions += profile[i] == bytes ? 1 : 0;
    }
  }
  bool is_below(const Peak& other) const {
    return bytes < other.bytes ||
           (bytes == other.bytes && positions < other.positions);
  }
};

// A value that could be given up.
struct Choice {
  double seconds = 0;
  std::size_t bytes = 0;
  std::size_t position = 0;        // before which the steps run
  std::vector<std::size_t> steps;  // in order

  double price() const { return seconds / static_cast<double>(bytes); }
};

class Chooser {
 public:
  Chooser(const OrderMemory& memory, const std::vector<double>& seconds,
          const StepOrder& order)
      : memory_(memory),
        seconds_(seconds),
        order_(order),
        versions_(memory.versions(order)),
        of_buffer_(memory.buffer_count()),
        readers_(versions_.size()) {
    for (std::size_t v = 0; v < versions_.size(); ++v) {
      of_buffer_[versions_[v].buffer].push_back(v);
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (const std::size_t buffer : memory.reads(order[i])) {
        readers_[before(buffer, i)].push_back(i);
      }
    }
  }

  std::vector<Choice> choices(std::size_t peak) const {
    std::vector<Choice> found;
    for (std::size_t v = 0; v < versions_.size(); ++v) {
      const Version& version = versions_[v];
      const bool is_across = version.first < peak && peak < version.last;
      const std::size_t maker = memory_.maker(version.buffer);
      if (!is_across || version.bytes == 0 || !memory_.may_repeat(maker) ||
          std::ranges::binary_search(readers_[v], peak)) {
        continue;
      }
      const std::size_t next = *std::ranges::upper_bound(readers_[v], peak);
      // What it is made from is kept until then where it is there at the peak
      // anyway, or computed again as well.
      for (const std::size_t kept_from : {peak, next}) {
        found.push_back({0, version.bytes, next, {}});
        add(maker, next, kept_from, found.back());
        const std::size_t size = found.size();
        if (kept_from == next &&
            found[size - 1].steps == found[size - 2].steps) {
          found.pop_back();
        }
      }
    }
    std::ranges::stable_sort(found, {}, &Choice::price);
    return found;
  }

  StepOrder with(const Choice& choice) const {
    StepOrder order = order_;
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(choice.position),
                 choice.steps.begin(), choice.steps.end());
    return order;
  }

 private:
  // The version of a buffer that a run at `position` reads.
  std::size_t before(std::size_t buffer, std::size_t position) const {
    std::size_t found = kNoVersion;
    for (const std::size_t v : of_buffer_[buffer]) {
      if (versions_[v].first >= position) break;
      // What the function returns is that of the first run.
      if (found == kNoVersion || versions_[found].bytes > 0) found = v;
    }
    return found;
  }

  // `step`, and the steps behind what it reads that is not there from
  // `kept_from` on.
  void add(std::size_t step, std::size_t position, std::size_t kept_from,
           Choice& choice) const {
    std::set<std::size_t> steps;
    std::vector<std::size_t> pending{step};
    while (!pending.empty()) {
      const std::size_t next = pending.back();
      pending.pop_back();
      if (!steps.insert(next).second) continue;
      for (const std::size_t buffer : memory_.reads(next)) {
        const Version& version = versions_[before(buffer, position)];
        if (version.bytes == 0 || version.last >= kept_from) continue;
        if (memory_.may_repeat(memory_.maker(buffer))) {
          pending.push_back(memory_.maker(buffer));
        }
      }
    }
    choice.steps.assign(steps.begin(), steps.end());
    for (const std::size_t each : choice.steps) {
      choice.seconds += seconds_[each];
    }
  }

  const OrderMemory& memory_;
  const std::vector<double>& seconds_;
  const StepOrder& order_;
  std::vector<Version> versions_;
  std::vector<std::vector<std::size_t>> of_buffer_;  // versions, in order
  std::vector<std::vector<std::size_t>> readers_;    // by version: positions
};

}  // namespace

std::optional<StepOrder> with_lower_peak(const OrderMemory& memory,
                                         const std::vector<double>& seconds,
                                         const StepOrder& order) {
  const Peak peak(memory.profile(order));
  const Chooser chooser(memory, seconds, order);
  for (const Choice& choice : chooser.choices(peak.first)) {
    StepOrder lower = chooser.with(choice);
    if (Peak(memory.profile(lower)).is_below(peak)) return lower;
  }
  return std::nullopt;
}

}  // namespace weft
