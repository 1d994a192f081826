// Which operands of which ops are indices, and into what.
#include <array>
#include <string_view>

#include "weft/graph/index_check.h"
#include "weft/ops/support/axes.h"
#include "weft/ops/support/indexing.h"

namespace weft {
namespace {

struct Rule {
  std::string_view op;
  IndexOperand (*operand)(const OpCall& call);
};

// Ops find their indices differently; the check itself (graph/index_check.h) is
// one for all.
IndexOperand into(std::size_t input, Dim size, bool from_end = true) {
  return {input, {{size}}, from_end};
}

IndexOperand into_axis(const OpCall& call) {
  const Shape& shape = call.input(0).shape;
  const int axis = resolved_axis(call.attributes.integer("axis"), shape.rank());
  return into(1, shape[axis]);
}

IndexOperand into_size(const OpCall& call) {
  return into(1, size_attribute(call));
}

// A label of -1 is no last class: it often stands for a missing one.
IndexOperand into_classes(const OpCall& call) {
  return into(1, call.input(0).shape.back(), /*from_end=*/false);
}

// Indices along the last axis of operand `input` are into the axes of x that
// stand behind its batch axes; `counts` says how many elements each takes.
IndexOperand into_axes(const OpCall& call, std::size_t input, int batch_axes,
                       const Shape* counts = nullptr) {
  const Shape& shape = call.input(0).shape;
  IndexOperand operand{input, {}};
  for (int i = 0; i < call.input(input).shape.back(); ++i) {
    const int axis = batch_axes + i;
    operand.axes.push_back(
        {shape[axis], counts == nullptr
                          ? 1
                          : (*counts)[counts->rank() - shape.rank() + axis]});
  }
  return operand;
}

IndexOperand into_tuples(const OpCall& call) {
  return into_axes(call, 1,
                   static_cast<int>(call.attributes.integer("batch_dims")));
}

// An op that reads memory by a value of an operand has to stand here: kernels
// only clamp, and a wrong index would go unnoticed.
constexpr std::array<Rule, 13> kRules{{
    {"gather", into_axis},
    {"scatter_add", into_size},
    {"pick", into_axis},
    {"pick_scatter", into_size},
    {"coalesce_rows", into_size},
    {"add_rows",
     [](const OpCall& call) { return into(2, call.input(0).shape[0]); }},
    {"one_hot",
     [](const OpCall& call) {
       return into(0, call.attributes.integer("depth"), /*from_end=*/false);
     }},
    {"cross_entropy", into_classes},
    {"cross_entropy_gradient", into_classes},
    {"gather_nd", into_tuples},
    {"scatter_nd", into_tuples},
    {"dynamic_slice",
     [](const OpCall& call) {
       return into_axes(call, 1, call.input(1).shape.rank() - 1,
                        &call.attributes.get<Shape>("sizes"));
     }},
    {"dynamic_update_slice",
     [](const OpCall& call) {
       return into_axes(call, 2, call.input(2).shape.rank() - 1,
                        &call.input(1).shape);
     }},
}};

}  // namespace

std::optional<IndexOperand> index_operand(const OpCall& call) {
  for (const Rule& rule : kRules) {
    if (rule.op == call.op.name()) return rule.operand(call);
  }
  return std::nullopt;
}

}  // namespace weft
