#include "weft/compiler/pass.h"
#include "weft/graph/known_ops.h"

namespace weft {
namespace {

// Ops that return their first operand unchanged when its type is right.
std::optional<std::vector<Value>> drop_identity(Rewriter&,
                                                OpApplication& application) {
  // A view that also reads other values is there for their order (ops/after.h).
  if (application.operands.size() != 1 || application.outputs.empty() ||
      !(application.operands[0].type() == application.outputs[0])) {
    return std::nullopt;
  }
  // An op that only renames or repeats does nothing where the type stays.
  const OpDef& op = application.op;
  if (!op.has(kView) && op != known::cast && op != known::broadcast_to) {
    return std::nullopt;
  }
  return std::vector{application.operands[0]};
}

}  // namespace

void register_pass_drop_identities(PassRegistry& passes) {
  passes.add({
      .name = "drop_identities",
      .summary = "leaves out views, casts and broadcasts that change no type",
      .order = 10,
      .rewrite = drop_identity,
      .samples = {{R"(func @f(%0: f32[2, 3]) -> (f32[2, 3]) {
    %1 = cast(%0) {dtype = f32} : f32[2, 3]
    %2 = reshape(%1) {shape = shape[2, 3]} : f32[2, 3]
    %3 = negate(%2) : f32[2, 3]
    return %3
  })",
                   R"(func @f(%0: f32[2, 3]) -> (f32[2, 3]) {
    %1 = negate(%0) : f32[2, 3]
    return %1
  })"}},
  });
}

}  // namespace weft
