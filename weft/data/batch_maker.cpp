#include "weft/data/batch_maker.h"

#include <algorithm>
#include <utility>

namespace weft {
namespace {

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
  // With fewer examples than workers, some get none, as at the end of an epoch.
  if (options.batch < shard.ranks) {
    throw wrong(dataset, fmt::format("{} workers cannot share a batch of {}",
                                     shard.ranks, options.batch));
  }
  const std::int64_t batch = std::min(options.batch, dataset.size());
  // A stream stays with its worker, which carries the model's state for it.
  if (dataset.is_sequential() && batch % shard.ranks != 0) {
    throw wrong(dataset,
                fmt::format("its {} streams cannot be dealt out evenly to {} "
                            "workers",
                            batch, shard.ranks));
  }
}

// Throws Error(kInvalidArgument) unless the examples can be read so. Returns
// the order to read them in.
BatchOrderOptions checked(const Dataset& dataset,
                          const LoaderOptions& options) {
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
  if (!options.augment.empty() && !is_image(dataset.features()[0].type)) {
    throw wrong(dataset,
                fmt::format("'{}' is for images", options.augment.front()));
  }
  return {.batch = options.batch,
          .shuffle = options.shuffle,
          .drop_last = options.drop_last,
          .seed = options.seed};
}

}  // namespace

BatchMaker::BatchMaker(DatasetRef dataset, const LoaderOptions& options)
    : dataset_(std::move(dataset)),
      options_(options),
      augmentations_(options_.augment),
      order_(*dataset_, checked(*dataset_, options_)) {
  if (options_.poisson) {
    if (dataset_->mixed_blocks() > 0) {
      throw wrong(
          *dataset_,
          "examples that join a batch by chance lie anywhere in the data, "
          "and not in the blocks that are in memory (data.mixed = 0 has "
          "all there)");
    }
    poisson_.emplace(dataset_->size(), *options_.poisson, options_.shard);
    options_.batch = poisson_->most_rows();
    // What it draws from its own rows is whole.
    if (options_.poisson->by_row) {
      drawing_ = std::exchange(options_.shard, {}).ranks;
    }
  }
  // A data set smaller than a batch needs no larger buffers.
  const std::int64_t whole = std::min(options_.batch, dataset_->size());
  const int ranks = options_.shard.ranks;
  // A short batch may leave a worker one row more than a full one does, and
  // some worker has as many of a full one. A worker that never gets an example
  // still builds the model for one. Batches that examples join by chance are
  // dealt out in other ways each time.
  const std::int64_t most =
      poisson_ ? poisson_->most_rows(ranks) : (whole + ranks - 1) / ranks;
  rows_.reserve(static_cast<std::size_t>(whole));
  for (const auto& feature : dataset_->features()) {
    TensorType type{feature.type.dtype, with_batch(most, feature.type.shape)};
    if (inputs_.empty() && is_image(feature.type)) {
      converter_.emplace(feature.type.shape, dataset_->pixel_scale());
      // Pixels are read as bytes, and become numbers image by image.
      pixels_ = Tensor::empty(type);
      type.dtype = DType::kF32;
    }
    std::vector<int> varying;
    // The batch comes before the axes of an example.
    for (const int axis : feature.varying) varying.push_back(axis + 1);
    inputs_.push_back({feature.name, type, std::move(varying)});
  }
  sizes_.resize(varying_axes(dataset_->features()));
  example_.resize(sizes_.size());
  views_.resize(inputs_.size());
}

std::int64_t BatchMaker::examples_per_epoch() const {
  if (poisson_) {
    return poisson_->steps_per_epoch() * options_.poisson->expected;
  }
  return std::min(batches_per_epoch() * options_.batch, dataset_->size());
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
  batch.size = static_cast<std::int64_t>(rows_.size()) - padding_;
  batch.padding = padding_;
  batch.tensors.resize(buffers.size());
  for (std::size_t f = 0; f < buffers.size(); ++f) {
    // A batch may be smaller than the buffers: the last one has fewer rows, and
    // examples are shorter than the longest.
    const Shape shape = batch_shape(f);
    // A tensor of other sizes is a view of the same memory, cut and shaped
    // anew: nothing is allocated from batch to batch.
    const std::int64_t all = buffers[f].size();
    batch.tensors[f] =
        buffers[f].reshape({all}).slice(0, shape.num_elements()).reshape(shape);
    // Images go through a buffer of bytes first, since the data set has no
    // floats.
    views_[f] = (f == 0 && converter_ ? pixels_ : batch.tensors[f]).view();
  }
  dataset_->read(rows_, views_);
  if (converter_) {
    convert_images(static_cast<std::uint32_t>(position.epoch), buffers[0]);
  }
  batch.position = position;
  // A last batch may be short for all workers together.
  // A batch that nobody joined is one all the same.
  batch.whole_size = poisson_ ? std::max<std::int64_t>(joined_, 1)
                              : order_.batch_size(position.batch);
}

void BatchMaker::pick_rows(BatchPosition position) {
  if (poisson_) {
    poisson_->pick(position.epoch, position.batch, rows_);
    // What others drew by themselves nobody tells: the guess is as many.
    joined_ = std::ssize(rows_) * drawing_;
    keep_part(part_of(std::ssize(rows_), options_.shard));
    const auto present = std::ssize(rows_);
    padding_ = poisson_->padded(present, options_.shard.ranks) - present;
    // What fills a batch up counts with a factor of 0, which leaves NaN and
    // infinity what they are: so it is an example that counts itself.
    rows_.resize(rows_.size() + static_cast<std::size_t>(padding_),
                 rows_.empty() ? 0 : rows_.front());
    if (!sizes_.empty()) measure_rows();
    return;
  }
  // All workers count the same batch and take their part of it, so neither the
  // order of examples nor their padding depends on how many workers there are.
  const std::int64_t size = order_.batch_size(position.batch);
  const auto own = part_of(size, options_.shard);
  // Examples of one size need no look at those of other workers.
  if (sizes_.empty()) {
    order_.pick(position.epoch, position.batch, own.first, own.second, rows_);
    return;
  }
  order_.pick(position.epoch, position.batch, 0, size, rows_);
  measure_rows();
  keep_part(own);
}

void BatchMaker::keep_part(std::pair<std::int64_t, std::int64_t> part) {
  rows_.erase(rows_.begin() + part.second, rows_.end());
  rows_.erase(rows_.begin(), rows_.begin() + part.first);
}

// Varying axes are as large as the largest of the examples, rounded up.
void BatchMaker::measure_rows() {
  // No axis becomes empty, even if all examples are.
  std::ranges::fill(sizes_, 1);
  for (const std::int64_t row : rows_) {
    dataset_->measure(row, example_);
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      sizes_[i] = std::max(sizes_[i], example_[i]);
    }
  }
  std::size_t next = 0;
  for (const BatchInput& input : inputs_) {
    for (const int axis : input.varying) {
      // A step is planned for each size that occurs, so that sizes are rounded
      // to few of them.
      sizes_[next] = rounded_size(sizes_[next], input.type.shape[axis]);
      ++next;
    }
  }
}

Shape BatchMaker::batch_shape(std::size_t feature) const {
  std::size_t next = 0;
  for (std::size_t f = 0; f < feature; ++f) {
    next += inputs_[f].varying.size();
  }
  Shape shape = inputs_[feature].type.shape;
  shape[0] = static_cast<Dim>(rows_.size());
  for (const int axis : inputs_[feature].varying) shape[axis] = sizes_[next++];
  return shape;
}

void BatchMaker::convert_images(std::uint32_t epoch, const Tensor& out) {
  WEFT_CHECK(converter_.has_value(), "the examples are not images");
  auto* pixels = pixels_.data<std::uint8_t>();
  auto* numbers = out.data<float>();
  const Shape& shape = out.shape();
  const std::int64_t size = out.size() / shape[0];
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    // The change is keyed by the example, not by its place in the batch.
    const ExampleKey key{options_.seed, epoch,
                         static_cast<std::uint64_t>(rows_[i])};
    const std::int64_t offset = static_cast<std::int64_t>(i) * size;
    augmentations_.apply(key, {pixels + offset, shape[1], shape[2], shape[3]});
    converter_->convert(pixels + offset, numbers + offset);
  }
}

}  // namespace weft
