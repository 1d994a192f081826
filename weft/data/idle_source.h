// Batches of which this rank gets no example: it has other work, as a server of
// parameters has, and goes through the same steps as those that compute.
//
// Threads: one at a time.
#pragma once

#include "weft/data/batch_source.h"

namespace weft {

class IdleSource final : public BatchSource {
 public:
  // As many batches as `of` has, of the same inputs; it is not kept.
  explicit IdleSource(const BatchSource& of);

  const std::vector<BatchInput>& inputs() const override { return inputs_; }
  std::int64_t batches_per_epoch() const override { return batches_; }
  std::int64_t examples_per_epoch() const override { return examples_; }
  const Batch& next() override;
  BatchPosition position() const override { return next_; }
  void seek(BatchPosition position) override;

 private:
  std::vector<BatchInput> inputs_;
  std::int64_t batches_;
  std::int64_t examples_;
  BatchPosition next_;
  Batch batch_;
};

}  // namespace weft
