// A row whose index is known is a part of its operand, which may be read where
// it lies. Exporters take apart by such indices what one product made for
// queries, keys and values.
#include "weft/compiler/pass.h"
#include "weft/graph/registry.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"

namespace weft {
namespace {

std::optional<std::vector<Value>> slice_known_row(Rewriter& rewriter,
                                                  OpApplication& application) {
  static const OpDef& constant = op_registry().get("constant");
  const Value& x = application.operands[0];
  const Value& index = application.operands[1];
  const Node* node = rewriter.node_of(index);
  if (node == nullptr || node->op != &constant || index.shape().rank() > 0) {
    return std::nullopt;
  }
  const int axis = normalize_axis(application.attributes.integer("axis"),
                                  x.shape().rank(), "gather");
  const auto row =
      static_cast<std::int64_t>(node->attributes.get<Tensor>("value").item(0));
  // One that does not exist is for the op to complain of.
  if (row < 0 || row >= x.shape()[axis]) return std::nullopt;
  const ContextScope scope(rewriter);
  return std::vector{
      reshape(slice_axis(x, axis, row, row + 1), application.outputs[0].shape)};
}

}  // namespace

void register_pass_slice_known_rows(PassRegistry& passes) {
  passes.add({
      .name = "slice_known_rows",
      .summary = "takes a row of a known index from where it lies",
      .order = 35,
      .ops = {"gather"},
      .rewrite = slice_known_row,
      .samples = {{R"(func @f(%0: f32[3, 2, 4]) -> (f32[3, 4]) {
    %1 = constant() {value = i64[](1)} : i64[]
    %2 = gather(%0, %1) {axis = 1} : f32[3, 4]
    return %2
  })",
                   R"(func @f(%0: f32[3, 2, 4]) -> (f32[3, 4]) {
    %1 = slice(%0) {begin = [0, 1, 0], end = [9223372036854775807, 2, 9223372036854775807]} : f32[3, 1, 4]
    %2 = reshape(%1) {shape = shape[3, 4]} : f32[3, 4]
    return %2
  })"},
                  // Several rows may be anywhere.
                  {R"(func @f(%0: f32[3, 2]) -> (f32[2, 2]) {
    %1 = constant() {value = i64[2](2, 0)} : i64[2]
    %2 = gather(%0, %1) {axis = 0} : f32[2, 2]
    return %2
  })"}},
  });
}

}  // namespace weft
