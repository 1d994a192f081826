// A source of examples that have numbers: each is a function of the epoch and
// its number, so that neither the size of batches, nor workers, nor resuming
// change any. What is made as it is asked for derives from this; files are read
// by a Loader.
//
// Threads: as BatchSource.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "weft/data/batch_source.h"
#include "weft/data/dataset.h"

namespace weft {

struct NumberedOptions {
  std::int64_t batch = 1;  // for all workers together
  bool drop_last = false;  // leave out a last batch that is not full
  Shard shard = {};
};

class NumberedSource : public BatchSource {
 public:
  // An epoch has the examples 0 … count - 1 of the features of `data`. Throws
  // Error(kInvalidArgument) for more workers than examples in a batch.
  NumberedSource(const DataDescription& data, std::int64_t count,
                 const NumberedOptions& options);

  const std::vector<BatchInput>& inputs() const override { return inputs_; }
  std::int64_t batches_per_epoch() const override;
  std::int64_t examples_per_epoch() const override;
  const Batch& next() override;
  BatchPosition position() const override { return next_; }
  void seek(BatchPosition position) override;

 protected:
  // Writes the example into row() of each feature.
  virtual void fill(std::int64_t epoch, std::int64_t number) = 0;
  // What fill() writes of a feature, whose dtype T is.
  template <class T>
  std::span<T> row(std::size_t feature) const {
    const std::span<T> all = buffers_[feature].span<T>();
    const std::size_t size =
        all.size() / static_cast<std::size_t>(buffers_[feature].shape()[0]);
    return all.subspan(row_ * size, size);
  }

 private:
  std::pair<std::int64_t, std::int64_t> part_of(std::int64_t size) const;

  std::string name_;
  std::int64_t count_;
  NumberedOptions options_;
  std::vector<BatchInput> inputs_;
  std::vector<Tensor> buffers_;  // of a full batch
  std::size_t row_ = 0;
  Batch batch_;
  BatchPosition next_;
};

}  // namespace weft
