// Batches of a data set in the order of an epoch, made ahead of time on a
// thread of its own.
//
// The order is a counter-based permutation per (seed, epoch) and augmentation
// is keyed by example: every batch is a function of (seed, epoch, number of
// the batch). The same seed gives the same bits, with or without the thread,
// and a run resumed at a position gets what the uninterrupted one would have.
//
// Images come out as f32 [B, H, W, C], everything else as the data set has
// it, behind a batch axis.
//
// Threads: caller synchronises; one thread takes the batches.
// Cost:    a batch in the steady state allocates nothing (but for decoding
//          image files): its buffers go round in a ring.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weft/data/augment.h"
#include "weft/data/dataset.h"

namespace weft {

// The part of each batch that one of several workers reads: the batch is cut
// into consecutive parts whose sizes differ by at most one, and the order of
// examples does not depend on how many workers there are.
struct Shard {
  int rank = 0;
  int ranks = 1;
};

struct LoaderOptions {
  std::int64_t batch = 32;  // for all workers together
  bool shuffle = false;     // else in the order of the data set
  bool drop_last = false;   // leave out a last batch that is not full
  std::uint64_t seed = 0;
  Augmentation augment = {};
  Shard shard = {};
  int prefetch = 2;  // batches made ahead; 0 makes them when they are asked for
};

// Where in the sequence of batches: both count from 0.
struct LoaderPosition {
  std::int64_t epoch = 0;
  std::int64_t batch = 0;

  bool operator==(const LoaderPosition&) const = default;
};

struct Batch {
  std::vector<Tensor> tensors;  // one per feature
  std::int64_t size = 0;        // examples; 0 where others have them all
  std::int64_t whole_size = 0;  // for all workers together
  LoaderPosition position;
};

class Loader {
 public:
  // Throws Error(kInvalidArgument) for an empty data set, a batch below 1, a
  // sequential data set that is shuffled or read in batches other than its
  // lanes, augmentation of what is no image, or more workers than examples in
  // a batch.
  Loader(DatasetRef dataset, const LoaderOptions& options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Types of the tensors of this worker's part of a full batch.
  const std::vector<TensorType>& types() const;
  std::int64_t batches_per_epoch() const;
  // Examples that an epoch visits, by all workers together.
  std::int64_t examples_per_epoch() const;

  // The next batch; after the last of an epoch the first of the next one.
  // Its tensors hold until the following call of next() or seek(). Rethrows
  // what went wrong while reading (a file that got lost, say).
  const Batch& next();

  // The position of the batch that next() will return.
  LoaderPosition position() const;
  // Continues at `position`, whose batch may also be batches_per_epoch(). Waits
  // for a batch that is being made. Throws Error(kInvalidArgument) for others.
  void seek(LoaderPosition position);

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace weft
