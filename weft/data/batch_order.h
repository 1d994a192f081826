// Which examples stand in each batch of an epoch.
//
// Examples of one size are shuffled as a whole. Where sizes differ, as the
// lengths of sentences do, a batch should hold examples of like sizes, or most
// of it is padding: examples whose rounded sizes agree are a bucket; each epoch
// shuffles within the buckets, cuts the batches off the row of buckets, and
// shuffles the batches.
//
// Examples that lie in blocks are shuffled as block_order.h has it.
//
// All of it is computed by place from (seed, epoch), so that any batch is known
// without those before it.
//
// Threads: caller synchronises.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weft/data/block_order.h"
#include "weft/data/dataset.h"

namespace weft {

struct BatchOrderOptions {
  std::int64_t batch = 32;  // at least 1
  bool shuffle = false;     // else in the order of the data set
  bool drop_last = false;   // leave out a last batch that is not full
  std::uint64_t seed = 0;
};

class BatchOrder {
 public:
  // Measures every example where sizes differ: O(size).
  BatchOrder(const Dataset& data, const BatchOrderOptions& options);

  std::int64_t batches_per_epoch() const { return batches_; }
  // Examples in batch `batch`; only the last may have fewer than the others.
  std::int64_t batch_size(std::int64_t batch) const;
  // The examples at places [begin, end) of a batch.
  void pick(std::int64_t epoch, std::int64_t batch, std::int64_t begin,
            std::int64_t end, std::vector<std::int64_t>& rows);

 private:
  void make_buckets(const Dataset& data);
  std::int64_t example_at(std::uint32_t epoch, std::int64_t place) const;

  std::int64_t size_;
  BatchOrderOptions options_;
  std::int64_t batches_;
  // The examples bucket by bucket, and where each bucket ends. Of one bucket
  // nothing is kept but its end: its examples are 0, 1, ….
  std::vector<std::int64_t> examples_;
  std::vector<std::int64_t> ends_;
  std::optional<BlockOrder> blocks_;
};

// `size` rounded up to one of few sizes, so that few plans serve all batches:
// 1 to 8, then 10, 12, 15, 18, 22, … grow by a quarter each. At most `largest`.
std::int64_t rounded_size(std::int64_t size, std::int64_t largest);

}  // namespace weft
