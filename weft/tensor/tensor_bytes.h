// The bytes of a tensor without its type, for where many wait and their types
// are known: a sixth of a Tensor.
//
// Threads: as a Tensor.
#pragma once

#include <utility>

#include "weft/tensor/tensor.h"

namespace weft {

class TensorBytes {
 public:
  TensorBytes() = default;  // holds nothing
  TensorBytes(const Tensor& tensor)
      : block_(tensor.block_), data_(tensor.data_) {}
  TensorBytes(Tensor&& tensor)
      : block_(std::move(tensor.block_)), data_(tensor.data_) {}

  void* raw() const { return data_; }
  bool owns_uniquely() const { return block_.is_unique(); }

  // The bytes behind the first ones; shared.
  TensorBytes behind(std::size_t bytes) const {
    TensorBytes rest = *this;
    rest.data_ += bytes;
    return rest;
  }
  // A tensor again, which takes them along. `type` is that of the tensor that
  // they are of, or of a part of it.
  Tensor take(const TensorType& type) {
    return {type, std::move(block_), std::exchange(data_, nullptr)};
  }

 private:
  BlockRef block_;
  std::byte* data_ = nullptr;
};

}  // namespace weft
