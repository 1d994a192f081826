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
  Bucket(std::uint32_t number, std::vector<BucketMember> members,
         std::size_t size);

  std::uint32_t number() const { return number_; }
  const std::vector<BucketMember>& members() const { return members_; }
  // All gradients in a row, f32; zero in the gaps between members.
  std::span<float> gradient() const { return gradient_.span<float>(); }
  std::size_t bytes() const { return gradient_.bytes(); }
  // The gradient of one member: shares the bucket's memory.
  Tensor gradient_of(const BucketMember& member) const;
  // "f32[36864] bucket 3: layer2.conv1.weight and 4 more".
  const std::string& text() const { return text_; }

 private:
  std::uint32_t number_;
  std::vector<BucketMember> members_;
  Tensor gradient_;
  std::string text_;
};

// `most_bytes` per bucket, but at least one parameter.
std::vector<Bucket> make_buckets(std::span<const NamedTensor> trainable,
                                 std::int64_t most_bytes);

// A member's part of values that are laid out as its bucket.
template <class T>
std::span<T> part_of(std::span<T> values, const BucketMember& member) {
  return values.subspan(member.offset, member.size);
}

}  // namespace weft
