#include "weft/runtime/jit/rematerialise.h"

#include <algorithm>

#include "weft/autodiff/gradient.h"
#include "weft/graph/context.h"
#include "weft/ops/after.h"
#include "weft/ops/custom_gradient.h"
#include "weft/runtime/eager.h"

namespace weft {
namespace {

// The floating values that the nodes from `first` on read, or that are results,
// and that these nodes did not make.
std::vector<Value> taken_from_around(FunctionBuilder& builder,
                                     std::size_t first,
                                     const std::vector<Value>& results) {
  std::vector<Value> taken = read_since(first);
  for (const Value& result : results) {
    const ValueId id = builder.id_of(result);
    const bool is_taken = std::ranges::any_of(
        taken, [&](const Value& each) { return each.id() == id; });
    const bool is_made =
        builder.function().value(id).node >= static_cast<NodeId>(first);
    if (!is_made && !is_taken) taken.emplace_back(builder, id);
  }
  std::erase_if(taken,
                [](const Value& each) { return !is_floating(each.dtype()); });
  return taken;
}

}  // namespace

std::vector<Value> rematerialised(
    const std::function<std::vector<Value>()>& body) {
  FunctionBuilder& builder = *current_context().builder();
  const std::size_t first = builder.function().nodes().size();
  CustomGradient custom;
  custom.results = [&] {
    // A trace records what can be differentiated while a tape is open.
    const Tape tape;
    return body();
  }();
  custom.arguments = taken_from_around(builder, first, custom.results);
  std::vector<Value> beside = custom.arguments;
  beside.insert(beside.end(), custom.results.begin(), custom.results.end());
  std::vector<Value> roots;
  for (const Value& result : custom.results) {
    if (!is_floating(result.dtype())) continue;
    roots.push_back(result);
    custom.seeds.push_back(seed_like(result, beside));
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
