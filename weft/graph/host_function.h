// Code of the program that a graph calls back: the attribute of host_func
// nodes. It lives as long as a graph refers to it, and has no text form: a
// graph with one cannot be written to a file.
//
// Threads: run() may be called on any thread.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "weft/tensor/tensor.h"

namespace weft {

class HostFunction;
using HostFunctionRef = std::shared_ptr<const HostFunction>;

class HostFunction {
 public:
  virtual ~HostFunction() = default;

  virtual const std::string& name() const = 0;
  // The results' types for operands of these types. Throws
  // Error(kInvalidArgument) for operands that it does not take.
  virtual std::vector<TensorType> result_types(
      std::span<const TensorType> operands) const = 0;
  // Throws what the program's code throws, and Error(kInvalidArgument) for
  // results of other types than result_types().
  virtual std::vector<Tensor> run(std::span<const Tensor> operands) const = 0;
  // From the operands, followed by the gradients of the floating results, to
  // the gradients of the floating operands.
  virtual HostFunctionRef gradient() const = 0;
};

// Kernels do not throw: what a host function threw waits here, per thread,
// for whoever ran the kernel.
void keep_host_failure(std::exception_ptr failure) noexcept;
// Throws it, once.
void throw_host_failure();

}  // namespace weft
