#include "weft/optim/row_gradient.h"

#include "weft/graph/builder.h"
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

Optimizer::Update update_rows(const Optimizer& optimizer,
                              const Value& parameter,
                              const RowGradient& gradient,
                              std::span<const Value> slots,
                              std::span<const Value> scalars) {
  WEFT_CHECK(optimizer.keeps_without_gradient());
  const auto rows_of = [&](const Value& table) {
    return gather(table, gradient.indices);
  };
  // Where a row comes again its gradient is zero, so its change is zero.
  const auto with_rows = [&](const Value& table, const Value& before,
                             const Value& after) {
    return add_rows(table, after - before, gradient.indices);
  };
  const Value rows = rows_of(parameter);
  std::vector<Value> slot_rows;
  for (const Value& slot : slots) slot_rows.push_back(rows_of(slot));
  const Optimizer::Update next =
      optimizer.update(rows, gradient.rows, slot_rows, scalars);
  Optimizer::Update update{with_rows(parameter, rows, next.parameter), {}};
  for (std::size_t i = 0; i < slots.size(); ++i) {
    update.slots.push_back(with_rows(slots[i], slot_rows[i], next.slots[i]));
  }
  return update;
}

}  // namespace weft
