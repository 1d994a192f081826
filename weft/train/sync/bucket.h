// Gradients that travel together: consecutive parameters, the last first,
// since backward computes theirs first (Li et al., "PyTorch Distributed",
// VLDB 2020).
//
// Threads: a bucket belongs to whoever works on it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/files/safetensors.h"

namespace weft {

struct BucketMember {
  std::size_t parameter = 0;  // among the trainable ones
  std::string name;
  Shape shape;
  std::size_t offset = 0;  // of its first value in the bucket
  std::size_t size = 0;
};

class Bucket {
 public:
  // Its gradients are `size` values of `row`, f32[N], from `begin` on; they
  // share its memory, and are zero in the gaps.
  Bucket(std::uint32_t number, std::vector<BucketMember> members, Tensor row,
         std::size_t begin, std::size_t size);

  std::uint32_t number() const { return number_; }
  const std::vector<BucketMember>& members() const { return members_; }
  // All gradients in a row, f32; zero in the gaps between members.
  std::span<float> gradient() const { return gradient_.span<float>(); }
  std::size_t bytes() const { return gradient_.bytes(); }
  // Its messages have it: the higher goes first (order.h).
  int priority() const { return priority_; }
  void set_priority(int priority) { priority_ = priority; }
  // The gradient of one member: shares the bucket's memory.
  Tensor gradient_of(const BucketMember& member) const {
    return gradient_from(member, member.shape);
  }
  // What begins with that member and goes on in the buckets behind this one.
  Tensor gradient_from(const BucketMember& member, const Shape& shape) const;
  // "f32[36864] bucket 3: layer2.conv1.weight and 4 more".
  const std::string& text() const { return text_; }

 private:
  std::uint32_t number_;
  int priority_ = 0;
  std::vector<BucketMember> members_;
  Tensor row_;
  std::size_t begin_;
  Tensor gradient_;
  std::string text_;
};

// `most_bytes` per bucket, but at least one parameter. All lie in one row of
// memory, so that neighbours without a gap between them are one tensor.
std::vector<Bucket> make_buckets(std::span<const NamedTensor> trainable,
                                 std::int64_t most_bytes);

// A member's part of values that are laid out as its bucket.
template <class T>
std::span<T> part_of(std::span<T> values, const BucketMember& member) {
  return values.subspan(member.offset, member.size);
}

}  // namespace weft
