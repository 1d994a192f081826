// A dense, row-major array with a dtype and a shape: concrete bytes.
//
// Copying a Tensor shares its bytes; views (reshape, leading-axis slices)
// share them too. Nothing here computes: see graph/value.h for the handle
// that ops work on.
//
// Threads: like shared_ptr — distinct Tensors that share bytes may be used on
// different threads as long as nobody writes.
#pragma once

#include <cstring>
#include <span>
#include <string>

#include "weft/tensor/allocator.h"
#include "weft/tensor/dtype.h"
#include "weft/tensor/shape.h"

namespace weft {

// Dtype and shape. In a graph the shape may hold symbols.
struct TensorType {
  DType dtype = DType::kF32;
  Shape shape;

  bool operator==(const TensorType&) const = default;
  // Requires a static shape.
  std::size_t bytes() const {
    return size_of(dtype) * static_cast<std::size_t>(shape.num_elements());
  }
};

// "f32[128, 28, 28, 1]"; symbols print by name.
std::string to_string(const Shape& shape);
std::string to_string(const TensorType& type);

// Bytes that somebody else keeps alive, with their type: what kernels see.
struct TensorView {
  TensorType type;
  void* data = nullptr;

  const Shape& shape() const { return type.shape; }
  DType dtype() const { return type.dtype; }
  std::int64_t size() const { return type.shape.num_elements(); }
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

class Tensor {
 public:
  Tensor() = default;  // holds nothing; is_defined() is false

  // The elements are not initialised. `type` must be static. Throws
  // Error(kExhausted), as everything here that takes memory does.
  static Tensor empty(const TensorType& type);
  static Tensor zeros(const TensorType& type);
  // Copies `values`, row-major. Throws Error(kInvalidArgument) if the count is
  // not the shape's.
  template <class T>
  static Tensor of(const Shape& shape, std::span<const T> values);
  template <class T>
  static Tensor of(const Shape& shape, std::initializer_list<T> values) {
    return of(shape, std::span<const T>(values.begin(), values.size()));
  }
  // A rank-0 tensor.
  template <class T>
  static Tensor scalar(T value) {
    return of({}, std::span<const T>(&value, 1));
  }
  // A rank-0 tensor of any dtype; the value is converted.
  static Tensor scalar(double value, DType dtype);
  // Shares memory owned elsewhere until release(owner) is called.
  static Tensor wrap(const TensorType& type, void* data, void* owner,
                     void (*release)(void*));

  bool is_defined() const { return static_cast<bool>(block_); }
  const TensorType& type() const { return type_; }
  DType dtype() const { return type_.dtype; }
  const Shape& shape() const { return type_.shape; }
  std::int64_t size() const { return type_.shape.num_elements(); }
  std::size_t bytes() const { return type_.bytes(); }

  void* raw() const { return data_; }
  // The elements as T. Asserts that T carries the dtype.
  template <class T>
  T* data() const {
    WEFT_CHECK(dtype_of<T>() == dtype());
    return static_cast<T*>(raw());
  }
  template <class T>
  std::span<T> span() const {
    return {data<T>(), static_cast<std::size_t>(size())};
  }
  TensorView view() const { return {type_, data_}; }
  // Element `index` in row-major order, whatever the dtype; an i64 beyond 2^53
  // is rounded. Asserts that the element exists.
  double item(std::int64_t index = 0) const;

  // Shares the bytes under another shape of the same size. Throws
  // Error(kInvalidArgument) for another size.
  Tensor reshape(const Shape& shape) const;
  // Rows [begin, end) of the leading axis; shares the bytes. Throws
  // Error(kInvalidArgument) for rows that are not there.
  Tensor slice(std::int64_t begin, std::int64_t end) const;
  // A copy of its own.
  Tensor clone() const;
  // Copies the bytes of a tensor of the same type into this one.
  void copy_from(const Tensor& source) const;
  bool shares_memory_with(const Tensor& other) const {
    return block_.get() == other.block_.get();
  }
  // Whether no other Tensor and no foreign owner can see the bytes, so that
  // they may be overwritten.
  bool owns_uniquely() const { return block_.is_unique(); }

 private:
  friend class TensorBytes;

  Tensor(const TensorType& type, BlockRef block, std::byte* data)
      : type_(type), block_(std::move(block)), data_(data) {}

  TensorType type_;
  BlockRef block_;
  std::byte* data_ = nullptr;
};

// True when dtype, shape and every byte agree.
bool identical(const Tensor& a, const Tensor& b);

template <class T>
Tensor Tensor::of(const Shape& shape, std::span<const T> values) {
  if (static_cast<std::int64_t>(values.size()) != shape.num_elements()) {
    throw Error(ErrorCode::kInvalidArgument, "tensor",
                "{} values do not fill {}", values.size(), to_string(shape));
  }
  Tensor result = empty({dtype_of<T>(), shape});
  // An initializer_list<bool> and friends are contiguous, so bytes suffice.
  if (!values.empty()) {
    std::memcpy(result.data_, values.data(), values.size_bytes());
  }
  return result;
}

}  // namespace weft
