#include "weft/train/step/bleu.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace weft {
namespace {

using WordSpan = std::span<const std::int32_t>;

std::map<std::vector<std::int32_t>, std::int64_t> count_runs(
    WordSpan sentence, std::size_t length) {
  std::map<std::vector<std::int32_t>, std::int64_t> counts;
  for (std::size_t i = 0; i + length <= sentence.size(); ++i) {
    const WordSpan run = sentence.subspan(i, length);
    ++counts[{run.begin(), run.end()}];
  }
  return counts;
}

}  // namespace

void BleuCounts::add(WordSpan translation, WordSpan reference) {
  for (std::size_t n = 1; n <= kLongest; ++n) {
    const auto wanted = count_runs(reference, n);
    for (const auto& [run, count] : count_runs(translation, n)) {
      all_[n - 1] += count;
      // A run that is repeated counts no more often than the reference has it.
      const auto found = wanted.find(run);
      if (found != wanted.end()) {
        shared_[n - 1] += std::min(count, found->second);
      }
    }
  }
  words_ += std::ssize(translation);
  reference_words_ += std::ssize(reference);
}

double BleuCounts::score() const {
  // Where there are runs of four words, there are some of every length.
  if (shared_[0] == 0 || all_[kLongest - 1] == 0) return 0;
  double log_precision = 0;
  double halved = 1;
  for (std::size_t i = 0; i < kLongest; ++i) {
    auto shared = static_cast<double>(shared_[i]);
    // A length of which no run is shared would make the whole score 0: it
    // counts as half of a run, the next as a quarter.
    if (shared_[i] == 0) shared = halved /= 2;
    log_precision += std::log(shared / static_cast<double>(all_[i]));
  }
  // The penalty for brevity (Papineni et al., 2002) is of the sums of all
  // sentences.
  const double missing =
      1 - static_cast<double>(reference_words_) / static_cast<double>(words_);
  return 100 * std::exp(std::min(0.0, missing) +
                        log_precision / static_cast<double>(kLongest));
}

}  // namespace weft
