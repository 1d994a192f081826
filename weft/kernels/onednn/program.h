// The adapter to oneDNN: a sequence of its primitives as one PreparedKernel.
// What differs between its versions 2.x and 3.x is in dialect.h.
//
// Running a program allocates nothing of ours and builds nothing: argument
// lists are made once, and only the addresses in them are set per run.
//
// Threads: a program belongs to one plan, like every PreparedKernel.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <vector>

#include "weft/graph/kernel.h"
#include "weft/kernels/onednn/dialect.h"
#include "weft/kernels/onednn/processor.h"

namespace weft::onednn {

// The processor, used as far as instruction_set() says.
const dnnl::engine& engine();

// Plain row-major memory.
dnnl::memory::desc dense(DType dtype, const dnnl::memory::dims& dims);
// Memory with strides in elements.
dnnl::memory::desc strided(DType dtype, const dnnl::memory::dims& dims,
                           const dnnl::memory::dims& strides);
// The layout that the primitive likes best.
dnnl::memory::desc any_layout(DType dtype, const dnnl::memory::dims& dims);

// Scratch memory of the user's.
dnnl::primitive_attr attributes();

// The descriptor of a primitive on engine(); see dialect.h.
template <class Primitive, class... Args>
auto describe(const dnnl::primitive_attr& attr, const Args&... args) {
  return descriptor<Primitive>(engine(), attr, args...);
}
template <class Primitive, class Hint, class... Args>
auto describe_backward(const dnnl::primitive_attr& attr, const Hint& hint,
                       const Args&... args) {
  return backward_descriptor<Primitive>(engine(), attr, hint, args...);
}

// Where an argument lies: in an operand, a result, the scratch memory, or in
// what the program keeps.
struct Slot {
  enum Kind { kInput, kOutput, kScratch, kKept } kind;
  std::size_t index;  // for scratch: the offset in bytes

  static Slot input(std::size_t index) { return {kInput, index}; }
  static Slot output(std::size_t index) { return {kOutput, index}; }
};

struct Argument {
  int name;  // DNNL_ARG_SRC, …
  dnnl::memory::desc layout;
  Slot slot;
};

class Program : public PreparedKernel {
 public:
  Program();

  // Room for a tensor between two primitives.
  Slot reserve(const dnnl::memory::desc& layout);
  // Appends a primitive; its own scratchpad is found by itself.
  void add(const dnnl::primitive& primitive,
           const dnnl::memory::desc& scratchpad,
           const std::vector<Argument>& arguments);
  // max(y, 0) on what output 0 has become at the end. oneDNN's own makes 0 of
  // NaN.
  void end_with_relu(const TensorType& y) { relu_ = y; }
  // Copies between layouts or dtypes.
  void add_reorder(const dnnl::memory::desc& from, Slot source,
                   const dnnl::memory::desc& to, Slot target);
  // `slot` in layout `to`: itself, or a copy made by a reorder.
  Slot in_layout(const dnnl::memory::desc& from, Slot slot,
                 const dnnl::memory::desc& to);
  // The same of an operand: what is known of the call is copied now, once for
  // all programs (graph/shared_packing.h), and anything else in every run.
  Slot in_layout(const OpCall& call, std::size_t input,
                 const dnnl::memory::desc& from, const dnnl::memory::desc& to);

  void run(const KernelBuffers& buffers) noexcept override;
  std::size_t scratch_bytes() const override { return scratch_bytes_; }
  // oneDNN's names of what computes; copies between layouts are left out.
  std::string implementation() const override { return implementation_; }

 private:
  struct Step {
    dnnl::primitive primitive;
    std::vector<dnnl::memory> memories;
    std::vector<Slot> slots;
    std::vector<dnnl_exec_arg_t> arguments;
  };

  dnnl::stream stream_;
  std::vector<Step> steps_;
  std::vector<std::shared_ptr<const Tensor>> kept_;
  std::optional<TensorType> relu_;  // of output 0
  std::size_t scratch_bytes_ = 0;
  std::string implementation_;
};

}  // namespace weft::onednn
