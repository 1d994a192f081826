#include "weft/optim/row_gradient.h"

#include "weft/graph/builder.h"
#include "weft/graph/location.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/index.h"
#include "weft/ops/rows.h"

namespace weft {
namespace {

// A row that is gathered, updated and added moves about twice the bytes of one
// that is updated where it lies.
bool is_worth_it(const Shape& indices, Dim table, const Bindings& sizes) {
  const Dim count = substitute(dim_product(indices.dims()), sizes);
  const Dim rows = substitute(table, sizes);
  // What is not known cannot be weighed; the whole table is right in any case.
  return !is_symbolic(count) && !is_symbolic(rows) && 2 * count < rows;
}

}  // namespace

std::optional<RowGradient> row_gradient(const Value& gradient,
                                        const Bindings& sizes) {
  FunctionBuilder* builder = gradient.builder();
  // Eager gradients have no graph to look into.
  if (builder == nullptr) return std::nullopt;
  const Function& function = builder->function();
  const ValueId id = builder->id_of(gradient);
  if (function.is_parameter(id)) return std::nullopt;
  const Node& node = function.node(function.value(id).node);
  // The gradient of a lookup is such a node; any other gradient is dense.
  if (node.op->name() != "scatter_add" || node.attributes.integer("axis") != 0)
    return std::nullopt;
  const Value updates(*builder, node.inputs[0]);
  const Value indices(*builder, node.inputs[1]);
  const Dim table = gradient.shape()[0];
  if (!is_worth_it(indices.shape(), table, sizes)) return std::nullopt;
  return RowGradient{coalesce_rows(updates, indices, table), indices};
}

void keep_touched_rows(const Optimizer& optimizer,
                       std::span<ParameterStep> parameters,
                       const Bindings& sizes) {
  for (ParameterStep& step : parameters) {
    // An optimizer that also moves rows without a gradient, as momentum does,
    // must see the whole table.
    if (!optimizer.keeps_without_gradient(step.name)) continue;
    const LayerScope scope("optimizer/" + step.name);
    const auto found = row_gradient(step.gradient, sizes);
    if (!found) continue;
    step.gradient = found->rows;
    step.indices = found->indices;
  }
}

ParameterRule::Next next_rows(const ParameterRule& rule,
                              const ParameterStep& step,
                              std::span<const Value> scalars) {
  WEFT_CHECK(rule.keeps_without_gradient(step.name));
  const auto rows_of = [&](const Value& table) {
    return gather(table, step.indices);
  };
  // Where a row comes again its gradient is zero, so its change is zero.
  const auto with_rows = [&](const Value& table, const Value& before,
                             const Value& after) {
    return add_rows(table, after - before, step.indices);
  };
  const Value rows = rows_of(step.parameter);
  std::vector<Value> slot_rows;
  for (const Value& slot : step.slots) slot_rows.push_back(rows_of(slot));
  const ParameterRule::Next after =
      rule.next(rows, step.gradient, slot_rows, scalars);
  ParameterRule::Next whole{with_rows(step.parameter, rows, after.parameter),
                            {}};
  for (std::size_t i = 0; i < step.slots.size(); ++i) {
    whole.slots.push_back(
        with_rows(step.slots[i], slot_rows[i], after.slots[i]));
  }
  return whole;
}

}  // namespace weft
