#include "weft/train/sync/bucket.h"

namespace weft {
namespace {

// Members begin at cache lines, as kernels like their operands.
constexpr std::size_t kAlignment = 16;  // values

std::size_t aligned(std::size_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

Bucket::Bucket(std::uint32_t number, std::vector<BucketMember> members,
               Tensor row, std::size_t begin, std::size_t size)
    : number_(number),
      members_(std::move(members)),
      row_(std::move(row)),
      begin_(begin),
      gradient_(row_.slice(static_cast<std::int64_t>(begin),
                           static_cast<std::int64_t>(begin + size))) {
  // There is a first member: make_buckets() closes no bucket without any.
  text_ = fmt::format("f32[{}] bucket {}: {}", gradient_.size(), number,
                      members_[0].name);
  if (members_.size() > 1) {
    text_ += fmt::format(" and {} more", members_.size() - 1);
  }
}

Tensor Bucket::gradient_from(const BucketMember& member,
                             const Shape& shape) const {
  const auto begin = static_cast<std::int64_t>(begin_ + member.offset);
  return row_.slice(begin, begin + shape.num_elements()).reshape(shape);
}

std::vector<Bucket> make_buckets(std::span<const NamedTensor> trainable,
                                 std::int64_t most_bytes) {
  const auto most = static_cast<std::size_t>(most_bytes) / sizeof(float);
  std::vector<Bucket> buckets;
  std::vector<BucketMember> members;
  std::size_t size = 0;
  std::size_t all = 0;
  for (const NamedTensor& named : trainable) {
    all += aligned(static_cast<std::size_t>(named.tensor.size()));
  }
  // Gaps between members are summed with the rest, and stay the zeros that they
  // are here.
  const Tensor row = Tensor::zeros({DType::kF32, {static_cast<Dim>(all)}});
  std::size_t begin = 0;
  const auto close = [&] {
    if (members.empty()) return;
    buckets.emplace_back(static_cast<std::uint32_t>(buckets.size()),
                         std::move(members), row, begin, size);
    members.clear();
    begin += size;
    size = 0;
  };
  // From the last parameter on, as backward computes the gradients of the last
  // layers first.
  for (std::size_t i = trainable.size(); i-- > 0;) {
    const NamedTensor& named = trainable[i];
    const auto count = static_cast<std::size_t>(named.tensor.size());
    // A parameter that is larger than any bucket gets one to itself.
    if (size + count > most) close();
    members.push_back({i, named.name, named.tensor.shape(), size, count});
    size += aligned(count);
  }
  close();
  return buckets;
}

}  // namespace weft
