#include "weft/compiler/pass.h"
#include "weft/graph/location.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

bool is_half(const Value& x) {
  return x.dtype() == DType::kBF16 || x.dtype() == DType::kF16;
}

// The op in f32, between casts: what producers and readers of an operand have
// in common is cast once, in the loop that makes it.
std::optional<std::vector<Value>> widen(Rewriter& rewriter,
                                        OpApplication& application) {
  const KernelCandidate* kernel = kernel_for(application);
  if (kernel == nullptr || !kernel->widens) return std::nullopt;
  const LayerScope scope(application.location.scope);
  const ContextScope context(rewriter);
  std::vector<const Value*> pointers;
  for (Value& operand : application.operands) {
    if (is_half(operand)) operand = cast(operand, DType::kF32);
    pointers.push_back(&operand);
  }
  std::vector<Value> results = rewriter.apply(
      application.op, pointers, application.attributes, application.location);
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i] = cast(results[i], application.outputs[i].dtype);
  }
  return results;
}

}  // namespace

void register_pass_widen_halves(PassRegistry& passes) {
  passes.add({
      .name = "widen_halves",
      .summary =
          "computes in f32, between casts, what has no kernel in bf16 or "
          "f16",
      .order = 30,
      .rewrite = widen,
      .samples = {{R"(func @f(%0: f16[4, 8]) -> (f16[4, 8]) {
    %1 = cumsum(%0) {axis = 1} : f16[4, 8]
    return %1
  })",
                   R"(func @f(%0: f16[4, 8]) -> (f16[4, 8]) {
    %1 = cast(%0) {dtype = f32} : f32[4, 8]
    %2 = cumsum(%1) {axis = 1} : f32[4, 8]
    %3 = cast(%2) {dtype = f16} : f16[4, 8]
    return %3
  })"}},
  });
}

}  // namespace weft
