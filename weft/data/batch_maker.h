// Makes the batch at a position: the part of a Loader that knows data, and
// nothing of threads.
//
// Threads: caller synchronises.
#pragma once

#include <optional>
#include <vector>

#include "weft/data/augmentation.h"
#include "weft/data/batch_order.h"
#include "weft/data/image_converter.h"
#include "weft/data/loader.h"

namespace weft {

class BatchMaker {
 public:
  // Checks everything that Loader promises to check.
  BatchMaker(DatasetRef dataset, const LoaderOptions& options);

  const std::vector<BatchInput>& inputs() const { return inputs_; }
  std::int64_t batches_per_epoch() const {
    return poisson_ ? poisson_->parts_per_epoch() : order_.batches_per_epoch();
  }
  std::int64_t examples_per_epoch() const;

  // Buffers for one full batch, for make() to fill.
  std::vector<Tensor> new_buffers() const;
  // Fills the beginning of `buffers` and points `batch` at it.
  void make(BatchPosition position, const std::vector<Tensor>& buffers,
            Batch& batch);

 private:
  void pick_rows(BatchPosition position);
  void measure_rows();
  // Leaves the rows [begin, end) of those that were picked.
  void keep_part(std::pair<std::int64_t, std::int64_t> part);
  Shape batch_shape(std::size_t feature) const;
  void convert_images(std::uint32_t epoch, const Tensor& out);

  DatasetRef dataset_;
  LoaderOptions options_;
  Augmentations augmentations_;
  BatchOrder order_;
  std::optional<PoissonOrder> poisson_;
  std::vector<BatchInput> inputs_;
  // These describe the batch being made.
  std::vector<std::int64_t> rows_;
  std::int64_t joined_ = 0;            // all workers' by chance
  std::int64_t drawing_ = 1;           // workers, each from rows of its own
  std::int64_t padding_ = 0;           // the last so many rows
  std::vector<std::int64_t> sizes_;    // of its varying axes
  std::vector<std::int64_t> example_;  // those of one example
  std::vector<TensorView> views_;      // where the data set writes
  std::optional<ImageConverter> converter_;
  Tensor pixels_;  // u8 images before conversion
};

}  // namespace weft
