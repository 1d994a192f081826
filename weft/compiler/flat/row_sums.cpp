#include "weft/compiler/flat/row_sums.h"

#include <algorithm>

#include "weft/compiler/steps.h"
#include "weft/graph/known_ops.h"
#include "weft/graph/registry.h"

namespace weft {
namespace {

// The op that makes a value, or null for a parameter.
const Node* maker_of(const Function& function, ValueId value) {
  if (function.is_parameter(value)) return nullptr;
  return &function.node(function.value(value).node);
}

// The value under the shape of `type`.
ValueId reshaped(Function& function, ValueId value, const TensorType& type) {
  static const OpDef& op = op_registry().get("reshape");
  if (function.type(value) == type) return value;
  return function.add_node(op, {value}, {{"shape", type.shape}}, {}).outputs[0];
}

}  // namespace

bool WithTotals::adds(std::size_t result) const {
  return std::find(results.begin(), results.end(), result) != results.end();
}

WithTotals add_to_totals(const Function& region,
                         const std::vector<bool>& is_accumulated) {
  static const OpDef& add_rows = op_registry().get("add_rows");
  WithTotals made{region, {}, {}};
  std::vector<ValueId> results = region.results();
  for (std::size_t i = 0; i < results.size(); ++i) {
    // The rows may be added under another shape, as those of many instances.
    const ValueId scattered = storage_of(region, results[i]);
    const Node* node = maker_of(region, scattered);
    // A result that is read otherwise must be a tensor of its own.
    if (!is_accumulated[i] || node == nullptr ||
        *node->op != known::scatter_add ||
        // add_rows takes rows of the first axis alone.
        node->attributes.integer("axis") != 0) {
      continue;
    }
    // The scatter itself stays in the function, and goes as unused when it is
    // planned.
    const ValueId total =
        made.function.add_parameter(region.type(results[i]), "");
    made.donated.emplace_back(made.function.parameters().size() - 1, i);
    made.results.push_back(i);
    const ValueId table =
        reshaped(made.function, total, region.type(scattered));
    const ValueId added =
        made.function
            .add_node(add_rows, {table, node->inputs[0], node->inputs[1]}, {},
                      node->location)
            .outputs[0];
    results[i] = reshaped(made.function, added, region.type(results[i]));
  }
  made.function.set_results(std::move(results));
  return made;
}

std::vector<std::pair<std::size_t, std::size_t>> changed_tables(
    const Function& region) {
  std::vector<std::pair<std::size_t, std::size_t>> tables;
  const auto& parameters = region.parameters();
  // The table that each result is changed from, or the value that it is.
  std::vector<ValueId> sources;
  for (const ValueId result : region.results()) {
    // The table may be seen under another shape, as that of many instances is.
    const ValueId stored = storage_of(region, result);
    const Node* node = maker_of(region, stored);
    const bool is_changed = node != nullptr && *node->op == known::add_rows;
    sources.push_back(is_changed ? storage_of(region, node->inputs[0])
                                 : stored);
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const ValueId result = region.results()[i];
    const auto table =
        std::find(parameters.begin(), parameters.end(), sources[i]);
    // A table that the region makes itself is its own already, and one that
    // several results come from can be overwritten by none.
    if (table == parameters.end() || storage_of(region, result) == *table ||
        region.type(*table) != region.type(result) ||
        std::count(sources.begin(), sources.end(), sources[i]) != 1) {
      continue;
    }
    tables.emplace_back(table - parameters.begin(), i);
  }
  return tables;
}

}  // namespace weft
