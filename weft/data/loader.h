// Batches of a data set in the order of an epoch, made ahead of time on a
// thread of its own.
//
// The order is a counter-based permutation per (seed, epoch) and augmentation
// is keyed by example: every batch is a function of (seed, epoch, number of
// the batch). The same seed gives the same bits, with or without the thread,
// and a run resumed at a position gets what the uninterrupted one would have.
//
// Images come out as f32 [B, H, W, C], everything else as the data set has
// it, behind a batch axis. Axes that vary are as large as the largest example
// of the batch, rounded up to one of few sizes; shuffled, batches hold examples
// of like sizes (data/batch_order.h).
//
// Threads: caller synchronises; one thread takes the batches.
// Cost:    a batch in the steady state allocates nothing (but for decoding
//          image files): its buffers go round in a ring.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/data/batch_source.h"
#include "weft/data/dataset.h"
#include "weft/data/poisson_order.h"

namespace weft {

// Each of several workers gets a part of consecutive examples; the sizes of the
// parts differ by at most one, and the order of examples does not depend on how
// many workers there are.
struct LoaderOptions {
  std::int64_t batch = 32;  // for all workers together
  bool shuffle = false;     // else in the order of the data set
  bool drop_last = false;   // leave out a last batch that is not full
  std::uint64_t seed = 0;
  std::vector<std::string> augment = {};  // data/augmentation.h
  Shard shard = {};
  // Each example joins a batch on its own, in the place of shuffling; `batch`
  // is then how many rows one has at most. Batches are filled up
  // (Batch::padding).
  std::optional<PoissonSampling> poisson = {};
  int prefetch = 2;  // batches made ahead; 0 makes them when they are asked for
};

class Loader final : public BatchSource {
 public:
  // Throws Error(kInvalidArgument) for an empty data set, a batch below 1, a
  // sequential data set that is shuffled or read in batches other than its
  // lanes, augmentations that are not known or of what is no image, or more
  // workers than examples in a batch.
  Loader(DatasetRef dataset, const LoaderOptions& options);
  ~Loader() override;
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  const std::vector<BatchInput>& inputs() const override;
  std::int64_t batches_per_epoch() const override;
  std::int64_t examples_per_epoch() const override;
  // Rethrows what went wrong while reading (a file that got lost, say).
  const Batch& next() override;
  BatchPosition position() const override;
  // Waits for a batch that is being made.
  void seek(BatchPosition position) override;

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace weft
