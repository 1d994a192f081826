// The handle that programs compute with. A Value is either concrete (it holds
// a Tensor, and ops on it run at once) or staged (it names a value of the
// function being built, and ops on it add nodes). Code written with Values
// does not need to know which.
//
// Threads: a value type; staged values belong to their builder's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <source_location>
#include <string>

#include "weft/graph/function.h"
#include "weft/tensor/tensor.h"

namespace weft {

class FunctionBuilder;

// What staged values know of the builder that made them. `builder` is null
// once the function is built: its symbols mean nothing any more.
struct BuilderLink {
  FunctionBuilder* builder = nullptr;
  std::string function;  // its name
};

class Value {
 public:
  Value() = default;    // undefined: "no gradient", "no bias"
  Value(Tensor tensor)  // NOLINT: a tensor is a value
      : tensor_(std::move(tensor)) {}
  // An eager result with an identity that tapes can refer to.
  Value(Tensor tensor, std::int64_t id) : tensor_(std::move(tensor)), id_(id) {}
  // A staged value; only a builder makes them.
  Value(FunctionBuilder& builder, ValueId id);

  // An id that no other value has; far above the ids of any function, which
  // start at 0.
  static std::int64_t fresh_id();

  bool is_defined() const { return link_ || tensor_.is_defined(); }
  bool is_staged() const { return link_ != nullptr; }
  // True for a symbol of a function that is no longer being built.
  bool is_closed() const { return link_ && link_->builder == nullptr; }
  // The function that a staged value belongs to.
  const std::string& function_name() const { return link_->function; }

  const TensorType& type() const;
  DType dtype() const { return type().dtype; }
  const Shape& shape() const { return type().shape; }

  // The concrete tensor. Throws Error(kInvalidArgument) naming the caller's
  // line for a staged value, which has none until its function runs.
  const Tensor& tensor(
      std::source_location where = std::source_location::current()) const {
    if (link_ != nullptr) fail_without_numbers(where);
    return tensor_;
  }
  // Whether a concrete scalar is not zero. A staged one cannot decide what is
  // built: Error(kInvalidArgument) naming the line that computed it.
  explicit operator bool() const;

  // It is null for a concrete value. Throws Error(kInvalidArgument) for a
  // closed one.
  FunctionBuilder* builder() const {
    if (link_ == nullptr || link_->builder != nullptr) [[likely]] {
      return link_ == nullptr ? nullptr : link_->builder;
    }
    fail_closed();
  }
  std::int64_t id() const { return id_; }

 private:
  [[noreturn]] void fail_without_numbers(std::source_location where) const;
  [[noreturn]] void fail_closed() const;

  Tensor tensor_;
  std::shared_ptr<const BuilderLink> link_;
  std::int64_t id_ = -1;
};

}  // namespace weft
