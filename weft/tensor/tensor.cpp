#include "weft/tensor/tensor.h"

#include "weft/tensor/round_to_odd.h"

namespace weft {

Tensor Tensor::empty(const TensorType& type) {
  WEFT_CHECK(type.shape.is_static(), "a tensor in memory has known dims");
  BlockRef block = allocate(type.bytes());
  std::byte* data = block->data;
  return Tensor(type, std::move(block), data);
}

Tensor Tensor::zeros(const TensorType& type) {
  Tensor result = empty(type);
  if (result.bytes() > 0) std::memset(result.data_, 0, result.bytes());
  return result;
}

Tensor Tensor::scalar(double value, DType dtype) {
  Tensor result = empty({dtype, {}});
  dispatch(dtype, [&]<class T>(T) {
    if constexpr (std::is_same_v<T, bool>) {
      *result.data<T>() = value != 0;
    } else if constexpr (std::is_class_v<T>) {
      *result.data<T>() = T(round_to_odd(value));
    } else {
      *result.data<T>() = static_cast<T>(value);
    }
  });
  return result;
}

Tensor Tensor::wrap(const TensorType& type, void* data, void* owner,
                    void (*release)(void*)) {
  BlockRef block = wrap_foreign(data, type.bytes(), owner, release);
  return Tensor(type, std::move(block), static_cast<std::byte*>(data));
}

double Tensor::item(std::int64_t index) const {
  WEFT_CHECK(index >= 0 && index < size());
  return dispatch(dtype(), [&]<class T>(T) {
    const T value = data<T>()[index];
    if constexpr (std::is_class_v<T>) {
      return static_cast<double>(static_cast<float>(value));
    } else {
      return static_cast<double>(value);
    }
  });
}

Tensor Tensor::reshape(const Shape& shape) const {
  if (shape.num_elements() != size()) {
    throw Error(ErrorCode::kInvalidArgument, "reshape",
                "{} does not fit into {}", to_string(type_), to_string(shape));
  }
  Tensor result = *this;
  result.type_.shape = shape;
  return result;
}

Tensor Tensor::slice(std::int64_t begin, std::int64_t end) const {
  if (shape().rank() == 0 || begin < 0 || end < begin || end > shape()[0]) {
    throw Error(ErrorCode::kInvalidArgument, "slice",
                "rows [{}, {}) are outside {}", begin, end, to_string(type_));
  }
  Tensor result = *this;
  const std::size_t rows = static_cast<std::size_t>(shape()[0]);
  // Rows of the first axis lie one behind the other, so a slice is a view.
  const std::size_t row_bytes = rows == 0 ? 0 : bytes() / rows;
  result.type_.shape[0] = end - begin;
  result.data_ += static_cast<std::size_t>(begin) * row_bytes;
  return result;
}

Tensor Tensor::clone() const {
  Tensor result = empty(type_);
  result.copy_from(*this);
  return result;
}

void Tensor::copy_from(const Tensor& source) const {
  WEFT_CHECK(source.type_ == type_, "copy between different types");
  // The two may be views of one block.
  if (bytes() > 0) std::memmove(data_, source.data_, bytes());
}

bool identical(const Tensor& a, const Tensor& b) {
  // One tensor by two names needs no look at its bytes, which may be many.
  return a.type() == b.type() &&
         (a.bytes() == 0 || a.raw() == b.raw() ||
          std::memcmp(a.raw(), b.raw(), a.bytes()) == 0);
}

}  // namespace weft
