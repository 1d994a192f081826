// The handle that programs compute with. A Value is either concrete (it holds
// a Tensor, and ops on it run at once) or staged (it names a value of the
// function being built, and ops on it add nodes). Code written with Values
// does not need to know which.
//
// Threads: a value type; staged values belong to their builder's thread.
#pragma once

#include <cstdint>

#include "weft/graph/function.h"
#include "weft/tensor/tensor.h"

namespace weft {

class FunctionBuilder;

class Value {
 public:
  Value() = default;    // undefined: "no gradient", "no bias"
  Value(Tensor tensor)  // NOLINT: a tensor is a value
      : tensor_(std::move(tensor)) {}
  // An eager result with an identity that tapes can refer to.
  Value(Tensor tensor, std::int64_t id) : tensor_(std::move(tensor)), id_(id) {}
  // A staged value; only a builder makes them.
  Value(FunctionBuilder& builder, ValueId id) : builder_(&builder), id_(id) {}

  bool is_defined() const { return builder_ || tensor_.is_defined(); }
  bool is_staged() const { return builder_ != nullptr; }

  const TensorType& type() const;
  DType dtype() const { return type().dtype; }
  const Shape& shape() const { return type().shape; }

  // The concrete tensor. Throws Error(kInvalidArgument) for a staged value,
  // which has none until its function runs.
  const Tensor& tensor() const;

  FunctionBuilder* builder() const { return builder_; }
  std::int64_t id() const { return id_; }

 private:
  Tensor tensor_;
  FunctionBuilder* builder_ = nullptr;
  std::int64_t id_ = -1;
};

}  // namespace weft
