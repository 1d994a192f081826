#include "weft/onnx/causal_mask.h"

#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/shape.h"

namespace weft::onnx {
namespace {

// Beside such a score no other counts (compiler/found_attention.h).
constexpr double kMostHidden = -1e30;

template <class T>
bool is_triangle(const Tensor& tensor, T seen, T later) {
  const Shape& shape = tensor.shape();
  const Dim queries = shape[shape.rank() - 2];
  const Dim keys = shape.back();
  const T* element = tensor.data<T>();
  for (Dim i = 0; i < queries; ++i) {
    for (Dim j = 0; j < keys; ++j) {
      if (*element++ != (j <= i ? seen : later)) return false;
    }
  }
  return true;
}

}  // namespace

std::optional<CausalMask> CausalMask::found_in(const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  const int rank = shape.rank();
  if (rank < 2 || shape[rank - 2] < 2 || shape[rank - 1] < 2 ||
      shape[rank - 2] * shape[rank - 1] != tensor.size()) {
    return std::nullopt;
  }
  CausalMask mask;
  mask.shape_ = shape;
  mask.dtype_ = tensor.dtype();
  // The second key is behind the first query.
  if (mask.dtype_ == DType::kBool) {
    const bool later = tensor.data<bool>()[1];
    mask.later_ = later ? 1 : 0;
    if (is_triangle(tensor, !later, later)) return mask;
  } else if (mask.dtype_ == DType::kF32) {
    const float later = tensor.data<float>()[1];
    mask.later_ = later;
    if (later <= kMostHidden && is_triangle(tensor, 0.0F, later)) return mask;
  }
  return std::nullopt;
}

Value CausalMask::staged() const {
  const Dim queries = shape_[shape_.rank() - 2];
  const Value query = reshape(iota(queries), {queries, 1});
  const Value key = iota(shape_.back());
  if (dtype_ == DType::kBool) {
    return reshape(later_ == 0 ? less_equal(key, query) : greater(key, query),
                   shape_);
  }
  const Value seen = reshape(less_equal(key, query), shape_);
  return where(seen, full({dtype_, {}}, 0), full({dtype_, {}}, later_));
}

}  // namespace weft::onnx
