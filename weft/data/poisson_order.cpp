#include "weft/data/poisson_order.h"

#include <algorithm>
#include <cmath>

#include "weft/base/error.h"

namespace weft {
namespace {

// Streams of the key: noise has those with the highest bit
// (train/private_worker.h).
constexpr std::uint64_t kEpochShift = 32;
// A binomial number is so many standard deviations above its mean by a chance
// of less than 1e-14.
constexpr double kMostDeviations = 8;
// So many sizes are planned for at most.
constexpr std::int64_t kSizes = 16;

}  // namespace

PoissonOrder::PoissonOrder(std::int64_t size, const PoissonSampling& sampling,
                           const Shard& worker)
    : sampling_(sampling),
      dealt_(sampling.by_row ? worker : Shard{}),
      own_((size - dealt_.rank + dealt_.ranks - 1) / dealt_.ranks) {
  const std::int64_t expected = sampling.expected;
  if (expected < 1 || expected >= size) {
    throw Error(ErrorCode::kInvalidArgument, "privacy",
                "batches of {} examples on average cannot be drawn from {}",
                expected, size)
        .hint("a smaller train.batch");
  }
  const double rate = static_cast<double>(expected) / static_cast<double>(size);
  threshold_ = static_cast<std::uint32_t>(std::ldexp(rate, 32));
  steps_ = std::max<std::int64_t>(size / expected, 1);
  // All workers plan for as many.
  const double mean = static_cast<double>(expected) / dealt_.ranks;
  const std::int64_t most_own = (size + dealt_.ranks - 1) / dealt_.ranks;
  const auto largest = std::min(
      most_own, static_cast<std::int64_t>(
                    std::ceil(mean + kMostDeviations * (std::sqrt(mean) + 1))));
  most_rows_ =
      sampling.most_rows > 0 ? std::min(sampling.most_rows, largest) : largest;
  parts_ = (largest + most_rows_ - 1) / most_rows_;
}

double PoissonOrder::rate() const {
  return std::ldexp(static_cast<double>(threshold_), -32);
}

void PoissonOrder::pick(std::int64_t epoch, std::int64_t part,
                        std::vector<std::int64_t>& rows) const {
  const std::int64_t step = part / parts_;
  std::vector<std::uint32_t> words(static_cast<std::size_t>(own_));
  fill_words(words, sampling_.key,
             (static_cast<std::uint64_t>(epoch) << kEpochShift) +
                 static_cast<std::uint64_t>(step));
  rows.clear();
  for (std::int64_t i = 0; i < own_; ++i) {
    if (words[static_cast<std::size_t>(i)] >= threshold_) continue;
    rows.push_back(i * dealt_.ranks + dealt_.rank);
  }
  const auto count = std::ssize(rows);
  if (count > parts_ * most_rows_) {
    throw Error(ErrorCode::kExhausted, "privacy",
                "a batch has {} examples, where at most {} were planned for",
                count, parts_ * most_rows_)
        .hint("this happens once in 1e14 batches: resume with another key");
  }
  const std::int64_t begin = std::min(part % parts_ * most_rows_, count);
  rows.erase(rows.begin() + std::min(begin + most_rows_, count), rows.end());
  rows.erase(rows.begin(), rows.begin() + begin);
}

std::int64_t PoissonOrder::padded(std::int64_t rows, int workers) const {
  const std::int64_t most = most_rows(workers);
  const std::int64_t grain = (most + kSizes - 1) / kSizes;
  const std::int64_t whole = std::max<std::int64_t>(rows, 1);
  return std::min((whole + grain - 1) / grain * grain, most);
}

}  // namespace weft
