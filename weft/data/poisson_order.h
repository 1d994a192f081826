// Batches that each example joins on its own, with one probability: the
// sampling for which differential privacy is amplified (Poisson sampling). How
// many examples a batch has is drawn with it.
//
// A batch may be cut into several parts of bounded size, which follow each
// other and are trained on as one ("virtual batches").
//
// Threads: immutable; share freely.
// Cost:    a batch draws a word for each example of the data set.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/data/batch_source.h"
#include "weft/privacy/noise/secret_key.h"

namespace weft {

struct PoissonSampling {
  std::int64_t expected = 1;  // examples of a batch, on average
  // Rows of a part at most; 0: a batch has one part, of whatever size.
  std::int64_t most_rows = 0;
  SecretKey key;  // what decides who joins
  // Whether a worker draws only from rows of its own, which are every so
  // many-th, with a key of its own: then nobody else knows who joined, and an
  // example changes the sum of one worker. If not, all draw the same batch, and
  // each computes a part of it.
  bool by_row = false;

  bool operator==(const PoissonSampling&) const = default;
};

class PoissonOrder {
 public:
  // `size` is that of the data set; where workers draw by row, these batches
  // are those of `worker`. Throws Error(kInvalidArgument) for an expected size
  // that is not between 1 and it.
  PoissonOrder(std::int64_t size, const PoissonSampling& sampling,
               const Shard& worker = {});

  // With which an example joins a batch: expected / size, rounded down to what
  // the words can express.
  double rate() const;
  // Batches of an epoch, in which each example joins once on average.
  std::int64_t steps_per_epoch() const { return steps_; }
  std::int64_t parts() const { return parts_; }
  std::int64_t parts_per_epoch() const { return steps_ * parts_; }
  // The largest part that occurs but by a chance of 1e-14 a batch.
  std::int64_t most_rows() const { return most_rows_; }

  // The examples of a part of the epoch; maybe none. Throws Error(kExhausted)
  // where a batch has more examples than its parts have rows.
  void pick(std::int64_t epoch, std::int64_t part,
            std::vector<std::int64_t>& rows) const;
  // The largest share of a part that one of so many workers gets.
  std::int64_t most_rows(int workers) const {
    return (most_rows_ + workers - 1) / workers;
  }
  // Rows that a share of so many examples is filled up to: one of few sizes.
  std::int64_t padded(std::int64_t rows, int workers = 1) const;

 private:
  PoissonSampling sampling_;
  Shard dealt_;       // whose rows are drawn from
  std::int64_t own_;  // rows that are
  std::uint32_t threshold_;
  std::int64_t steps_;
  std::int64_t most_rows_;
  std::int64_t parts_ = 1;
};

}  // namespace weft
