#include "weft/data/batch_maker.h"

#include <algorithm>
#include <numeric>

#include "weft/base/permutation.h"

namespace weft {
namespace {

constexpr std::uint32_t kOrderStream = 0x6f726431;  // "ord1"

bool is_image(const TensorType& type) {
  return type.dtype == DType::kU8 && type.shape.rank() == 3;
}

Shape with_batch(std::int64_t batch, const Shape& shape) {
  Shape result{batch};
  for (const Dim dim : shape) result.push_back(dim);
  return result;
}

Error wrong(const Dataset& dataset, std::string message) {
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("loader of '{}'", dataset.name()),
               std::move(message));
}

// The rows [begin, end) of a batch of `size` that the worker reads.
// Neighbouring parts meet, and their sizes differ by at most one.
std::pair<std::int64_t, std::int64_t> part_of(std::int64_t size,
                                              const Shard& shard) {
  return {size * shard.rank / shard.ranks,
          size * (shard.rank + 1) / shard.ranks};
}

void check_shard(const Dataset& dataset, const LoaderOptions& options) {
  const Shard& shard = options.shard;
  WEFT_CHECK(shard.rank >= 0 && shard.rank < shard.ranks);
  const std::int64_t batch = std::min(options.batch, dataset.size());
  if (batch < shard.ranks) {
    throw wrong(dataset, fmt::format("{} workers cannot share a batch of {}",
                                     shard.ranks, batch));
  }
  // A stream stays with its worker, which carries the model's state for it.
  if (dataset.is_sequential() && batch % shard.ranks != 0) {
    throw wrong(dataset,
                fmt::format("its {} streams cannot be dealt out evenly to {} "
                            "workers",
                            batch, shard.ranks));
  }
}

void check_options(const Dataset& dataset, const LoaderOptions& options) {
  if (options.batch < 1) {
    throw wrong(dataset, fmt::format("a batch of {} examples", options.batch));
  }
  // With drop_last, there must be one full batch at least.
  if (dataset.size() < (options.drop_last ? options.batch : 1)) {
    throw wrong(dataset, fmt::format("{} examples are too few for a batch "
                                     "of {}",
                                     dataset.size(), options.batch));
  }
  if (dataset.is_sequential() && options.shuffle) {
    throw wrong(dataset, "running text cannot be shuffled");
  }
  if (dataset.is_sequential() && options.batch != dataset.lanes()) {
    throw wrong(dataset,
                fmt::format("it is laid out as {} streams, so a batch has as "
                            "many examples, not {}",
                            dataset.lanes(), options.batch));
  }
  check_shard(dataset, options);
  const bool augments = options.augment.crop || options.augment.flip;
  if (augments && !is_image(dataset.features()[0].type)) {
    throw wrong(dataset, "crop and flip are for images");
  }
}

}  // namespace

BatchMaker::BatchMaker(DatasetRef dataset, const LoaderOptions& options)
    : dataset_(std::move(dataset)), options_(options) {
  check_options(*dataset_, options_);
  const std::int64_t whole = dataset_->size() / options_.batch;
  const bool has_rest = dataset_->size() % options_.batch != 0;
  batches_ = whole + (has_rest && !options_.drop_last ? 1 : 0);
  // A data set smaller than a batch needs no larger buffers.
  const auto [first, last] =
      part_of(std::min(options_.batch, dataset_->size()), options_.shard);
  const std::int64_t most = last - first;
  rows_.reserve(static_cast<std::size_t>(most));
  for (const auto& feature : dataset_->features()) {
    TensorType type{feature.type.dtype, with_batch(most, feature.type.shape)};
    if (inputs_.empty() && is_image(feature.type)) {
      converter_.emplace(feature.type.shape, dataset_->pixel_scale());
      // Pixels are read as bytes, and become numbers image by image.
      pixels_ = Tensor::empty(type);
      type.dtype = DType::kF32;
    }
    inputs_.push_back({feature.name, type});
  }
  views_.resize(inputs_.size());
}

std::int64_t BatchMaker::examples_per_epoch() const {
  return std::min(batches_ * options_.batch, dataset_->size());
}

std::vector<Tensor> BatchMaker::new_buffers() const {
  std::vector<Tensor> buffers;
  for (const BatchInput& input : inputs_) {
    buffers.push_back(Tensor::empty(input.type));
  }
  return buffers;
}

void BatchMaker::make(BatchPosition position,
                      const std::vector<Tensor>& buffers, Batch& batch) {
  pick_rows(position);
  for (std::size_t f = 0; f < buffers.size(); ++f) {
    // Images go through a buffer of bytes first, since the data set has no
    // floats.
    views_[f] = (f == 0 && converter_ ? pixels_ : buffers[f]).view();
  }
  dataset_->read(rows_, views_);
  if (converter_) {
    convert_images(static_cast<std::uint32_t>(position.epoch), buffers[0]);
  }
  batch.position = position;
  // A last batch may be short for all workers together.
  batch.whole_size = std::min(
      options_.batch, dataset_->size() - position.batch * options_.batch);
  batch.size = static_cast<std::int64_t>(rows_.size());
  batch.tensors.resize(buffers.size());
  for (std::size_t f = 0; f < buffers.size(); ++f) {
    // The last batch may be shorter than the buffers.
    batch.tensors[f] = buffers[f].slice(0, batch.size);
  }
}

void BatchMaker::pick_rows(BatchPosition position) {
  const std::int64_t first = position.batch * options_.batch;
  const std::int64_t size = std::min(options_.batch, dataset_->size() - first);
  const auto [begin, end] = part_of(size, options_.shard);
  rows_.resize(static_cast<std::size_t>(end - begin));
  // All workers count the same batch and take their part of it, so the order of
  // examples does not depend on their number.
  std::iota(rows_.begin(), rows_.end(), first + begin);
  if (!options_.shuffle) return;
  // A permutation that is computed for each place takes no memory and no time
  // when a run is resumed within an epoch.
  const Permutation order(static_cast<std::uint64_t>(dataset_->size()),
                          options_.seed, kOrderStream,
                          static_cast<std::uint32_t>(position.epoch));
  for (auto& row : rows_) {
    row = static_cast<std::int64_t>(order(static_cast<std::uint64_t>(row)));
  }
}

void BatchMaker::convert_images(std::uint32_t epoch, const Tensor& out) {
  WEFT_CHECK(converter_.has_value(), "the examples are not images");
  const auto* pixels = pixels_.data<std::uint8_t>();
  auto* numbers = out.data<float>();
  const std::int64_t size = out.size() / out.shape()[0];
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    // The change is keyed by the example, not by its place in the batch.
    const ImageChange change =
        draw_change(options_.augment, options_.seed, epoch,
                    static_cast<std::uint64_t>(rows_[i]));
    const std::int64_t offset = static_cast<std::int64_t>(i) * size;
    converter_->convert(pixels + offset, change, numbers + offset);
  }
}

}  // namespace weft
