// What a function takes and returns, and how others refer to it.
//
// Threads: value types.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/tensor/symbol.h"
#include "weft/tensor/tensor.h"

namespace weft {

// The symbols of a signature are its own: each call binds them anew to the
// dims of its arguments.
struct Signature {
  std::vector<TensorType> parameters;
  std::vector<TensorType> results;

  bool operator==(const Signature&) const = default;
};

// "(f32[N], f32[]) -> (f32[N])".
std::string to_string(const Signature& signature);

// A function of the same graph, by name. With the signature at hand the types
// of a call are inferred before the function has a body, so functions may call
// each other; verify(Graph) compares it with the definition.
struct FunctionRef {
  std::string name;
  std::shared_ptr<const Signature> signature;

  bool operator==(const FunctionRef& other) const;
};

// "@fib(f32[]) -> (f32[])".
std::string to_string(const FunctionRef& function);

// What the symbols of `function` stand for in a call with such arguments; the
// dims of the arguments may be symbols of the caller. Throws
// Error(kInvalidArgument) that says which argument does not fit, or which
// result has a size that the arguments do not determine.
Bindings bind_call(const FunctionRef& function,
                   std::span<const TensorType> arguments);

// The results' types of such a call. Throws as bind_call().
std::vector<TensorType> result_types(const FunctionRef& function,
                                     std::span<const TensorType> arguments);

}  // namespace weft
