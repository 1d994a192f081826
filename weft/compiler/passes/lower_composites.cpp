#include "weft/compiler/pass.h"
#include "weft/graph/location.h"

namespace weft {
namespace {

std::optional<std::vector<Value>> lower_composite(Rewriter& rewriter,
                                                  OpApplication& application) {
  // A kernel of its own is there because it is faster than what it is lowered
  // to.
  if (application.op.lower() == nullptr || kernel_for(application) != nullptr) {
    return std::nullopt;
  }
  // What it lowers to comes back, op by op, and is rewritten in turn.
  const LayerScope scope(application.location.scope);
  const ContextScope context(rewriter);
  return application.op.lower()(application.attributes, application.operands);
}

}  // namespace

void register_pass_lower_composites(PassRegistry& passes) {
  passes.add({
      .name = "lower_composites",
      .summary = "says composites without a kernel of their own by other ops",
      .order = 20,
      .is_needed = true,
      .rewrite = lower_composite,
      .samples = {{R"(func @f(%0: f32[2, 3], %1: f32[3, 4]) -> (f32[2, 4]) {
    %2 = einsum(%0, %1) {equation = "ij,jk->ik"} : f32[2, 4]
    return %2
  })",
                   R"(func @f(%0: f32[2, 3], %1: f32[3, 4]) -> (f32[2, 4]) {
    %2 = matmul(%0, %1) : f32[2, 4]
    return %2
  })"}},
  });
}

}  // namespace weft
