#include "weft/data/numbered_source.h"

#include <algorithm>

namespace weft {

NumberedSource::NumberedSource(const DataDescription& data, std::int64_t count,
                               const NumberedOptions& options)
    : name_(data.name()), count_(count), options_(options) {
  if (count < 1) {
    throw Error(ErrorCode::kInvalidArgument, name_,
                "an epoch of {} examples has no batch", count);
  }
  options_.batch = std::min(options.batch, count);
  // A worker without examples would have no gradient to bring.
  if (options_.batch < options.shard.ranks) {
    throw Error(ErrorCode::kInvalidArgument, name_,
                "{} workers cannot share a batch of {}", options.shard.ranks,
                options_.batch);
  }
  const auto [first, last] = part_of(options_.batch);
  for (const Feature& feature : data.features()) {
    // Parts differ by an example, and a short batch may leave one to whom a
    // full one left none.
    TensorType type{feature.type.dtype, {last - first + 1}};
    for (const Dim dim : feature.type.shape) type.shape.push_back(dim);
    buffers_.push_back(Tensor::zeros(type));
    type.shape[0] = last - first;
    inputs_.push_back({feature.name, type});
  }
  batch_.tensors.resize(buffers_.size());
}

std::int64_t NumberedSource::batches_per_epoch() const {
  return options_.drop_last ? count_ / options_.batch
                            : (count_ - 1) / options_.batch + 1;
}

std::int64_t NumberedSource::examples_per_epoch() const {
  return std::min(batches_per_epoch() * options_.batch, count_);
}

std::pair<std::int64_t, std::int64_t> NumberedSource::part_of(
    std::int64_t size) const {
  const Shard& shard = options_.shard;
  // Neighbouring parts meet, and their sizes differ by at most one.
  return {size * shard.rank / shard.ranks,
          size * (shard.rank + 1) / shard.ranks};
}

void NumberedSource::seek(BatchPosition position) {
  const std::int64_t batches = batches_per_epoch();
  if (position.epoch < 0 || position.batch < 0 || position.batch > batches) {
    throw Error(ErrorCode::kInvalidArgument, name_,
                "there is no batch {} of {} in epoch {}", position.batch,
                batches, position.epoch);
  }
  // A checkpoint at the end of an epoch may name the batch behind its last one.
  next_ = position.batch == batches ? BatchPosition{position.epoch + 1, 0}
                                    : position;
}

const Batch& NumberedSource::next() {
  const std::int64_t begin = next_.batch * options_.batch;
  batch_.whole_size = std::min(options_.batch, count_ - begin);
  const auto [first, last] = part_of(batch_.whole_size);
  batch_.size = last - first;
  batch_.position = next_;
  // Examples are numbered within the whole batch, so that what one is does not
  // depend on how many workers there are.
  for (std::int64_t i = first; i < last; ++i) {
    row_ = static_cast<std::size_t>(i - first);
    fill(next_.epoch, begin + i);
  }
  for (std::size_t f = 0; f < buffers_.size(); ++f) {
    batch_.tensors[f] = buffers_[f].slice(0, batch_.size);
  }
  seek({next_.epoch, next_.batch + 1});
  return batch_;
}

}  // namespace weft
