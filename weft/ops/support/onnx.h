// What exporters of ops to ONNX have in common: those that need no more are
// `.onnx(onnx_elementwise<"Add">)` in an op's entry.
//
// Threads: as OnnxContext.
#pragma once

#include <algorithm>
#include <string>

#include "weft/graph/onnx.h"

namespace weft {

// The name of an op of ONNX, as an argument of a template.
template <std::size_t kSize>
struct OnnxName {
  constexpr OnnxName(const char (&name)[kSize]) {  // NOLINT: implicit
    std::copy_n(name, kSize, text);
  }
  char text[kSize];
};

// Operands that broadcast, in the order of axes in which they are there.
struct OnnxOperands {
  OnnxContext::Names names = {};
  bool are_images = false;
};
OnnxOperands broadcast_operands(OnnxContext& c);
// The result of operands in that order.
void set_like(OnnxContext& c, const OnnxOperands& operands,
              const std::string& name);

void export_elementwise(OnnxContext& c, const std::string& op,
                        const Attributes& attributes = {});
template <OnnxName kName>
void onnx_elementwise(OnnxContext& c) {
  export_elementwise(c, kName.text);
}
// not (a op b), and op applied to one after the other.
void export_negated(OnnxContext& c, const std::string& op);
template <OnnxName kName>
void onnx_negated(OnnxContext& c) {
  export_negated(c, kName.text);
}
void export_chain(OnnxContext& c, const std::string& first,
                  const std::string& second);
template <OnnxName kFirst, OnnxName kSecond>
void onnx_chain(OnnxContext& c) {
  export_chain(c, kFirst.text, kSecond.text);
}

// An axis of the engine's order, where it is in ONNX's.
std::int64_t onnx_axis(std::int64_t axis, int rank, bool is_image);
// The same node along one axis, which is an attribute: Softmax, say.
void export_along_axis(OnnxContext& c, const std::string& op);
template <OnnxName kName>
void onnx_along_axis(OnnxContext& c) {
  export_along_axis(c, kName.text);
}
// Reductions over axes, which are an operand.
void export_reduction(OnnxContext& c, const std::string& op);
template <OnnxName kName>
void onnx_reduction(OnnxContext& c) {
  export_reduction(c, kName.text);
}
// The operand itself.
void onnx_identity(OnnxContext& c);

// A tensor as the engine holds it, in another order of axes: for weights that
// are known.
Tensor transposed(const Tensor& tensor, const Integers& permutation);
// An operand in another order of axes; what is known is put in order now.
std::string transposed_operand(OnnxContext& c, std::size_t input,
                               const Integers& permutation);
// A bias (operand 2) and an activation behind a product.
std::string with_onnx_activation(OnnxContext& c, const std::string& y);

// The order of axes of ONNX's weights [O, I, rows, columns], made of ours.
inline const Integers kOnnxKernel = {3, 2, 0, 1};
// The attributes of a convolution's windows.
Attributes onnx_windows(const Attributes& attributes);

// --- Recurrent layers --------------------------------------------------------
// Throws Error(kUnsupported) where results from `first_inner` on are read,
// which only gradients need, or for weights that are narrow.
void check_onnx_layer(OnnxContext& c, std::size_t first_inner);
// Weights [inputs, gates] or a bias [gates] as [1, gates, inputs] or [1,
// gates], with the gates' blocks in another order.
std::string onnx_gates(OnnxContext& c, std::size_t input,
                       const std::vector<int>& order);
// A state [batch, hidden] as [1, batch, hidden].
std::string onnx_state(OnnxContext& c, std::size_t input);

}  // namespace weft
