#include "weft/train/sync/bucket_layout.h"

#include <algorithm>
#include <limits>

namespace weft {
namespace {

std::vector<NamedTensor> values_of(std::span<const Slice> slices) {
  std::vector<NamedTensor> values;
  for (const Slice& slice : slices) values.push_back(slice.values);
  return values;
}

}  // namespace

BucketLayout::BucketLayout(std::vector<NamedTensor> parameters,
                           std::int64_t slice_bytes, std::int64_t bucket_bytes)
    : parameters_(std::move(parameters)),
      slices_(cut_into_slices(parameters_, slice_bytes)),
      exchanged_(values_of(slices_)),
      buckets_(make_buckets(exchanged_, bucket_bytes)),
      buckets_of_(parameters_.size()),
      parameters_in_(buckets_.size()) {
  for (const Bucket& bucket : buckets_) {
    for (const BucketMember& member : bucket.members()) {
      const std::size_t parameter = slices_[member.parameter].parameter;
      buckets_of_[parameter].push_back(bucket.number());
      ++parameters_in_[bucket.number()];
    }
  }
}

std::vector<Tensor> BucketLayout::gradients() const {
  std::vector<Tensor> gradients(parameters_.size());
  for (const Bucket& bucket : buckets_) {
    for (const BucketMember& member : bucket.members()) {
      const Slice& slice = slices_[member.parameter];
      if (slice.begin > 0) continue;
      gradients[slice.parameter] = bucket.gradient_from(
          member, parameters_[slice.parameter].tensor.shape());
    }
  }
  return gradients;
}

void BucketLayout::set_priorities(std::span<const int> of_parameters) {
  for (Bucket& bucket : buckets_) {
    int most = std::numeric_limits<int>::lowest();
    for (const BucketMember& member : bucket.members()) {
      const std::size_t parameter = slices_[member.parameter].parameter;
      most = std::max(most, of_parameters[parameter]);
    }
    bucket.set_priority(most);
  }
}

double BucketLayout::bytes() const {
  double bytes = 0;
  for (const Bucket& bucket : buckets_) {
    bytes += static_cast<double>(bucket.bytes());
  }
  return bytes;
}

double BucketLayout::density() const {
  std::size_t all = 0;
  std::size_t set = 0;
  for (const Bucket& bucket : buckets_) {
    for (const BucketMember& member : bucket.members()) {
      const auto sum = part_of(bucket.gradient(), member);
      all += sum.size();
      set += sum.size() - static_cast<std::size_t>(std::ranges::count(sum, 0));
    }
  }
  return static_cast<double>(set) / static_cast<double>(all);
}

}  // namespace weft
