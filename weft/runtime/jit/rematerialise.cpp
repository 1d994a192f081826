#include "weft/runtime/jit/rematerialise.h"

#include <unordered_set>

#include "weft/autodiff/gradient.h"
#include "weft/graph/context.h"
#include "weft/ops/after.h"
#include "weft/ops/custom_gradient.h"

namespace weft {
namespace {

// The floating values that the nodes from `first` on read and did not make.
std::vector<Value> read_from_around(FunctionBuilder& builder,
                                    std::size_t first) {
  const auto& nodes = builder.function().nodes();
  std::unordered_set<ValueId> made;
  std::vector<Value> read;
  for (std::size_t n = first; n < nodes.size(); ++n) {
    for (const ValueId input : nodes[n].inputs) {
      if (!made.insert(input).second) continue;  // made, or read before
      Value value(builder, input);
      if (is_floating(value.dtype())) read.push_back(std::move(value));
    }
    made.insert(nodes[n].outputs.begin(), nodes[n].outputs.end());
  }
  return read;
}

}  // namespace

std::vector<Value> rematerialised(
    const std::function<std::vector<Value>()>& body) {
  FunctionBuilder& builder = *current_context().builder();
  const std::size_t first = builder.function().nodes().size();
  CustomGradient custom;
  custom.results = body();
  custom.arguments = read_from_around(builder, first);
  std::vector<Value> roots;
  for (const Value& result : custom.results) {
    // A result that was there before is as good as what it is made from.
    if (!is_floating(result.dtype())) continue;
    roots.push_back(result);
    custom.seeds.push_back(seed_like(result));
  }
  // Where nothing can flow there is nothing to compute again.
  if (custom.seeds.empty() || custom.arguments.empty()) return custom.results;
  std::vector<Value> again;
  for (const Value& argument : custom.arguments) {
    // The second computation must wait for the gradient, or its values would be
    // alive all along, which this is to avoid.
    again.push_back(after(argument, custom.seeds));
  }
  custom.gradients = gradients(builder, copied(roots, custom.arguments, again),
                               custom.seeds, again);
  return with_gradient(custom, Location());
}

}  // namespace weft
