// Makes the batch at a position: the part of a Loader that knows data, and
// nothing of threads.
//
// Threads: caller synchronises.
#pragma once

#include <optional>
#include <vector>

#include "weft/data/loader.h"

namespace weft {

class BatchMaker {
 public:
  // Checks everything that Loader promises to check.
  BatchMaker(DatasetRef dataset, const LoaderOptions& options);

  const std::vector<BatchInput>& inputs() const { return inputs_; }
  std::int64_t batches_per_epoch() const { return batches_; }
  std::int64_t examples_per_epoch() const;

  // Buffers for one full batch, for make() to fill.
  std::vector<Tensor> new_buffers() const;
  // Fills the leading rows of `buffers` and points `batch` at them.
  void make(BatchPosition position, const std::vector<Tensor>& buffers,
            Batch& batch);

 private:
  void pick_rows(BatchPosition position);
  void convert_images(std::uint32_t epoch, const Tensor& out);

  DatasetRef dataset_;
  LoaderOptions options_;
  std::vector<BatchInput> inputs_;
  std::int64_t batches_ = 0;
  std::vector<std::int64_t> rows_;  // in the batch being made
  std::vector<TensorView> views_;   // where the data set writes
  std::optional<ImageConverter> converter_;
  Tensor pixels_;  // u8 images before conversion
};

}  // namespace weft
