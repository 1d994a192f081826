#include "weft/concurrent/counter/two_choice_process.h"

#include <algorithm>
#include <cmath>

#include "weft/base/error.h"
#include "weft/concurrent/random.h"

namespace weft::concurrent {
namespace {

class Cells {
 public:
  explicit Cells(const TwoChoiceProcess& process)
      : process_(process),
        random_(process.seed, 0),
        values_(process.cells),
        chosen_(process.staleness),
        // No choice is left over, so that the first increment draws a batch.
        next_(process.staleness) {}

  void increment() {
    if (next_ == chosen_.size()) {
      // All of them look before the first one adds.
      for (std::uint32_t& choice : chosen_) choice = choose();
      next_ = 0;
    }
    ++values_[chosen_[next_++]];
  }

  double read() {
    // Each cell holds about its share of the count, which is how a MultiCounter
    // is read.
    return static_cast<double>(process_.cells) *
           static_cast<double>(values_[random_.below(process_.cells)]);
  }

  std::uint64_t gap() const {
    const auto [low, high] =
        std::minmax_element(values_.begin(), values_.end());
    return *high - *low;
  }

  const std::vector<std::uint64_t>& values() const { return values_; }

 private:
  std::uint32_t choose() {
    const std::uint32_t first = random_.below(process_.cells);
    if (process_.choices == 1) return first;
    // The two may be the same cell, as they may in MultiCounter.
    const std::uint32_t second = random_.below(process_.cells);
    return values_[first] <= values_[second] ? first : second;
  }

  const TwoChoiceProcess& process_;
  FastRandom random_;
  std::vector<std::uint64_t> values_;
  std::vector<std::uint32_t> chosen_;  // by increments that look at once
  std::size_t next_;                   // of them to add
};

}  // namespace

ProcessRun run_process(const TwoChoiceProcess& process,
                       std::uint64_t increments, std::uint64_t read_every) {
  if (process.cells == 0 || process.staleness == 0 || read_every == 0 ||
      process.choices < 1 || process.choices > 2)
    throw Error(ErrorCode::kInvalidArgument, "run_process",
                "{} cells, staleness {}, {} choices, a read after every {}",
                process.cells, process.staleness, process.choices, read_every);
  Cells cells(process);
  ProcessRun run;
  for (std::uint64_t count = 1; count <= increments; ++count) {
    cells.increment();
    if (count % read_every != 0) continue;
    run.costs.push_back(std::abs(cells.read() - static_cast<double>(count)));
    run.gaps.push_back(cells.gap());
  }
  run.cells = cells.values();
  return run;
}

}  // namespace weft::concurrent
