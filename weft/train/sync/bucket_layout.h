// How the parameters of a model are exchanged: cut into slices, where they are
// to be, which are joined to buckets. Gradients lie in the buckets themselves,
// so that nothing is copied before it travels.
//
// Threads: caller synchronises.
#pragma once

#include <span>
#include <vector>

#include "weft/train/sync/bucket.h"
#include "weft/train/sync/slices.h"

namespace weft {

class BucketLayout {
 public:
  // Slices of `slice_bytes` at most, or whole parameters (0), in buckets of
  // `bucket_bytes`.
  BucketLayout(std::vector<NamedTensor> parameters, std::int64_t slice_bytes,
               std::int64_t bucket_bytes);

  std::span<Bucket> buckets() { return buckets_; }
  std::span<const Bucket> buckets() const { return buckets_; }
  // The slices, as policies see parameters: members of buckets are of these.
  const std::vector<NamedTensor>& exchanged() const { return exchanged_; }
  // The buckets that hold something of a parameter.
  const std::vector<std::size_t>& buckets_of(std::size_t parameter) const {
    return buckets_of_[parameter];
  }
  // How many parameters each bucket holds something of, by its number.
  const std::vector<std::size_t>& parameters_in() const {
    return parameters_in_;
  }
  // Where backward writes each parameter's gradient: in the buckets.
  std::vector<Tensor> gradients() const;

  // A bucket is as urgent as the most urgent of its members.
  void set_priorities(std::span<const int> of_parameters);

  double bytes() const;
  // The share of the gradients' entries that are not 0.
  double density() const;

 private:
  std::vector<NamedTensor> parameters_;
  std::vector<Slice> slices_;
  std::vector<NamedTensor> exchanged_;
  std::vector<Bucket> buckets_;
  std::vector<std::vector<std::size_t>> buckets_of_;
  std::vector<std::size_t> parameters_in_;
};

}  // namespace weft
