#include "weft/data/batch_order.h"

#include <algorithm>
#include <map>

#include "weft/base/permutation.h"

namespace weft {
namespace {

// Streams of random numbers; that of a bucket is kOrderStream plus its number.
constexpr std::uint32_t kOrderStream = 0x6f726431;  // "ord1"
constexpr std::uint32_t kBatchStream = 0x62617431;  // "bat1"
constexpr std::uint32_t kStartStream = 0x73746131;  // "sta1"

std::int64_t permuted(std::int64_t place, std::int64_t size, std::uint64_t seed,
                      std::uint32_t stream, std::uint32_t epoch) {
  const Permutation order(static_cast<std::uint64_t>(size), seed, stream,
                          epoch);
  return static_cast<std::int64_t>(order(static_cast<std::uint64_t>(place)));
}

// The sizes of the varying axes when they are largest.
std::vector<std::int64_t> largest_sizes(const Dataset& data) {
  std::vector<std::int64_t> sizes;
  for (const Feature& feature : data.features()) {
    for (const int axis : feature.varying) {
      sizes.push_back(feature.type.shape[axis]);
    }
  }
  return sizes;
}

}  // namespace

BatchOrder::BatchOrder(const Dataset& data, const BatchOrderOptions& options)
    : size_(data.size()), options_(options), ends_{data.size()} {
  batches_ = size_ / options_.batch;
  const bool has_rest = size_ % options_.batch != 0;
  if (has_rest && !options_.drop_last) ++batches_;
  if (!options_.shuffle) return;
  const bool are_ragged = varying_axes(data.features()) > 0;
  if (are_ragged) make_buckets(data);
  if (data.mixed_blocks() > 0) {
    WEFT_CHECK(!are_ragged);
    blocks_.emplace(data.blocks(), data.mixed_blocks(), options_.seed);
  }
}

void BatchOrder::make_buckets(const Dataset& data) {
  const std::vector<std::int64_t> largest = largest_sizes(data);
  // Neighbours in the order of their sizes are alike, so that a batch which
  // takes from two buckets is not much larger than its examples.
  std::map<std::vector<std::int64_t>, std::vector<std::int64_t>> buckets;
  std::vector<std::int64_t> sizes(largest.size());
  for (std::int64_t row = 0; row < size_; ++row) {
    data.measure(row, sizes);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      WEFT_CHECK(sizes[i] >= 1 && sizes[i] <= largest[i]);
      sizes[i] = rounded_size(sizes[i], largest[i]);
    }
    buckets[sizes].push_back(row);
  }
  if (buckets.size() == 1) return;
  ends_.clear();
  for (const auto& [key, rows] : buckets) {
    examples_.insert(examples_.end(), rows.begin(), rows.end());
    ends_.push_back(static_cast<std::int64_t>(examples_.size()));
  }
}

std::int64_t BatchOrder::batch_size(std::int64_t batch) const {
  return std::min(options_.batch, size_ - batch * options_.batch);
}

void BatchOrder::pick(std::int64_t epoch, std::int64_t batch,
                      std::int64_t begin, std::int64_t end,
                      std::vector<std::int64_t>& rows) {
  const auto number = static_cast<std::uint32_t>(epoch);
  const std::int64_t whole = size_ / options_.batch;
  // The batches come in the order of sizes otherwise. One that is not full
  // stays the last.
  if (ends_.size() > 1 && batch < whole) {
    batch = permuted(batch, whole, options_.seed, kBatchStream, number);
  }
  rows.resize(static_cast<std::size_t>(end - begin));
  if (blocks_) {
    return blocks_->pick(number, batch * options_.batch + begin, rows);
  }
  for (std::int64_t i = begin; i < end; ++i) {
    rows[static_cast<std::size_t>(i - begin)] =
        example_at(number, batch * options_.batch + i);
  }
}

std::int64_t BatchOrder::example_at(std::uint32_t epoch,
                                    std::int64_t place) const {
  if (!options_.shuffle) return place;
  if (ends_.size() > 1 && options_.drop_last) {
    // Batches are cut off from another place in each epoch, or it would always
    // be the largest examples that are left out.
    place = (place + permuted(0, size_, options_.seed, kStartStream, epoch)) %
            size_;
  }
  const auto bucket = static_cast<std::size_t>(
      std::ranges::upper_bound(ends_, place) - ends_.begin());
  const std::int64_t begin = bucket == 0 ? 0 : ends_[bucket - 1];
  // A permutation that is computed for each place takes no memory, and no time
  // when a run is resumed within an epoch.
  place = begin + permuted(place - begin, ends_[bucket] - begin, options_.seed,
                           kOrderStream + static_cast<std::uint32_t>(bucket),
                           epoch);
  return examples_.empty() ? place : examples_[static_cast<std::size_t>(place)];
}

std::int64_t rounded_size(std::int64_t size, std::int64_t largest) {
  // Sizes grow by a quarter: of an axis, about a fifth is padding at most, and
  // the sizes for which steps are compiled stay few.
  std::int64_t rounded = 1;
  while (rounded < size) rounded = std::max(rounded + 1, rounded * 5 / 4);
  return std::min(rounded, largest);
}

}  // namespace weft
