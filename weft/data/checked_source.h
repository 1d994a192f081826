// Holds a source to what it declares: the one place where batches are taken, so
// that a step never sees one that it was not planned for.
//
// Threads: as BatchSource.
// Cost:    a batch allocates nothing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/data/batch_source.h"

namespace weft {

class CheckedSource final : public BatchSource {
 public:
  // `name` is what errors call it: "batch source 'stream'".
  CheckedSource(std::string name, std::unique_ptr<BatchSource> source);

  // What the source declared first.
  const std::vector<BatchInput>& inputs() const override { return inputs_; }
  std::int64_t batches_per_epoch() const override { return batches_; }
  std::int64_t examples_per_epoch() const override;

  // Throws Error(kUnavailable) if the source has run dry, and Error(kDataLoss)
  // for a batch of another position, with other tensors, dtypes, ranks or sizes
  // than were declared; both name the batch, and what was expected.
  const Batch& next() override;
  BatchPosition position() const override { return source_->position(); }
  void seek(BatchPosition position) override { source_->seek(position); }
  void answer_with(Answer answer) override {
    source_->answer_with(std::move(answer));
  }

 private:
  void check(const Batch& batch, BatchPosition due) const;
  Error dry(BatchPosition due) const;
  Error wrong(BatchPosition due, std::string_view what) const;

  std::string name_;
  std::unique_ptr<BatchSource> source_;
  std::vector<BatchInput> inputs_;
  std::int64_t batches_;
};

}  // namespace weft
