#include "weft/optim/row_gradient.h"

#include <algorithm>

#include "weft/graph/builder.h"
#include "weft/graph/known_ops.h"
#include "weft/graph/location.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/index.h"
#include "weft/ops/join.h"
#include "weft/ops/rows.h"
#include "weft/ops/shape.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

// The lookups of one table, in the order in which their gradients were added.
struct Lookups {
  std::vector<Value> updates;  // [count…, width…] each
  std::vector<Value> indices;  // [count…] each
};

// Whether `gradient` is made of lookups alone; they are added to `found`.
bool collect_lookups(FunctionBuilder& builder, ValueId gradient,
                     Lookups& found) {
  const Function& function = builder.function();
  if (function.is_parameter(gradient)) return false;
  const Node& node = function.node(function.value(gradient).node);
  // Where a table is read twice, its gradients are added (autodiff/reverse.h).
  if (*node.op == known::add) {
    return collect_lookups(builder, node.inputs[0], found) &&
           collect_lookups(builder, node.inputs[1], found);
  }
  // The gradient of a lookup is such a node; any other gradient is dense.
  if (*node.op != known::scatter_add || node.attributes.integer("axis") != 0)
    return false;
  found.updates.emplace_back(builder, node.inputs[0]);
  found.indices.emplace_back(builder, node.inputs[1]);
  return true;
}

// Whether a node reads nothing of the table but rows at indices of a lookup.
bool looks_up(const Node& node, ValueId table, FunctionBuilder& builder,
              const Lookups& lookups) {
  return *node.op == known::gather && node.attributes.integer("axis") == 0 &&
         node.inputs[0] == table &&
         std::ranges::any_of(lookups.indices, [&](const Value& indices) {
           return builder.id_of(indices) == node.inputs[1];
         });
}

// A row that is gathered, updated and added moves about twice the bytes of one
// that is updated where it lies.
bool is_worth_it(const std::vector<Value>& lookups, Dim table,
                 const Bindings& sizes) {
  const Dim rows = substitute(table, sizes);
  Dim count = 0;
  for (const Value& indices : lookups) {
    count =
        dim_add(count, substitute(dim_product(indices.shape().dims()), sizes));
  }
  // What is not known cannot be weighed; the whole table is right in any case.
  return !is_symbolic(count) && !is_symbolic(rows) && 2 * count < rows;
}

// [count, width…]: one axis in place of the first `axes`.
Value with_one_axis(const Value& x, int axes) {
  if (axes == 1) return x;
  const Shape& shape = x.shape();
  Shape flat{dim_product(shape.first(axes))};
  for (int axis = axes; axis < shape.rank(); ++axis)
    flat.push_back(shape[axis]);
  return reshape(x, flat);
}

// Lookups of one table may have indices of both dtypes.
DType index_dtype(const std::vector<Value>& indices) {
  const DType first = indices[0].dtype();
  const bool is_one = std::ranges::all_of(
      indices, [&](const Value& each) { return each.dtype() == first; });
  return is_one ? first : DType::kI64;
}

Value behind_each_other(const std::vector<Value>& parts) {
  return parts.size() == 1 ? parts[0] : concat(parts, 0);
}

ParameterStep rows_of(const ParameterStep& table, const RowGradient& touched) {
  ParameterStep rows{.name = table.name,
                     .parameter = gather(table.parameter, touched.indices),
                     .gradient = touched.rows,
                     .slots = {}};
  for (const Value& slot : table.slots) {
    rows.slots.push_back(gather(slot, touched.indices));
  }
  return rows;
}

}  // namespace

std::optional<RowGradient> row_gradient(const Value& gradient,
                                        const Bindings& sizes) {
  FunctionBuilder* builder = gradient.builder();
  // Eager gradients have no graph to look into.
  if (builder == nullptr) return std::nullopt;
  Lookups found;
  if (!collect_lookups(*builder, builder->id_of(gradient), found)) {
    return std::nullopt;
  }
  const Dim table = gradient.shape()[0];
  if (!is_worth_it(found.indices, table, sizes)) return std::nullopt;
  const DType dtype = index_dtype(found.indices);
  for (std::size_t i = 0; i < found.indices.size(); ++i) {
    Value& indices = found.indices[i];
    const int axes = indices.shape().rank();
    found.updates[i] = with_one_axis(found.updates[i], axes);
    indices = to_dtype(with_one_axis(indices, axes), dtype);
  }
  const Value indices = behind_each_other(found.indices);
  return RowGradient{
      coalesce_rows(behind_each_other(found.updates), indices, table), indices};
}

bool is_only_looked_up(const Value& table, const Value& gradient) {
  FunctionBuilder& builder = *table.builder();
  Lookups lookups;
  WEFT_CHECK(collect_lookups(builder, builder.id_of(gradient), lookups),
             "a gradient that is of lookups");
  const ValueId id = builder.id_of(table);
  return std::ranges::all_of(builder.function().nodes(), [&](const Node& node) {
    return !std::ranges::count(node.inputs, id) ||
           looks_up(node, id, builder, lookups);
  });
}

TouchedRows::TouchedRows(const Optimizer& optimizer,
                         std::span<ParameterStep> parameters,
                         const Bindings& sizes) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    ParameterStep& step = parameters[i];
    // An optimizer that also moves rows without a gradient, as momentum does,
    // must see the whole table.
    if (!optimizer.keeps_without_gradient(step.name)) continue;
    const LayerScope scope("optimizer/" + step.name);
    const auto found = row_gradient(step.gradient, sizes);
    if (!found) continue;
    ParameterStep rows = rows_of(step, *found);
    tables_.push_back({i, found->indices, std::move(step), rows});
    step = std::move(rows);
  }
}

void TouchedRows::put_back(std::span<ParameterStep> parameters) const {
  for (const Table& table : tables_) {
    ParameterStep& step = parameters[table.parameter];
    const LayerScope scope("optimizer/" + step.name);
    // Where a row comes again its gradient is zero, so its change is zero.
    const auto with_rows = [&](const Value& whole, const Value& before,
                               const Value& after) {
      return add_rows(whole, after - before, table.indices);
    };
    step.parameter =
        with_rows(table.whole.parameter, table.rows.parameter, step.parameter);
    for (std::size_t i = 0; i < step.slots.size(); ++i) {
      step.slots[i] =
          with_rows(table.whole.slots[i], table.rows.slots[i], step.slots[i]);
    }
  }
}

}  // namespace weft
