#include "weft/autodiff/gradient.h"

#include <algorithm>

#include "weft/autodiff/control_gradient.h"
#include "weft/graph/inlining.h"
#include "weft/ops/constant.h"

namespace weft {
namespace {

// One application for each node that is there now and depends on one of `wrt`:
// a function of which many gradients are taken, one after another, is not
// copied for each.
std::vector<Application> applications_of(FunctionBuilder& builder,
                                         std::span<const Value> wrt) {
  // Values of functions around this one become parameters of it here.
  std::vector<ValueId> ids;
  for (const Value& value : wrt) ids.push_back(builder.id_of(value));
  const Function& function = builder.function();
  std::vector<bool> depends(function.value_count());
  for (const ValueId id : ids) depends[static_cast<std::size_t>(id)] = true;
  const auto is_reached = [&](const Node& node) {
    return std::ranges::any_of(node.inputs, [&](ValueId id) {
      return id >= 0 && depends[static_cast<std::size_t>(id)];
    });
  };
  std::vector<Application> result;
  // The walk adds nodes to the function while it goes, so the list is made
  // first.
  for (const Node& node : function.nodes()) {
    if (!is_reached(node)) continue;
    Application application{node.op, node.attributes, {}, {}};
    for (const ValueId id : node.inputs) {
      application.inputs.emplace_back(builder, id);
    }
    for (const ValueId id : node.outputs) {
      depends[static_cast<std::size_t>(id)] = true;
      application.outputs.emplace_back(builder, id);
    }
    result.push_back(std::move(application));
  }
  return result;
}

}  // namespace

std::vector<Value> gradients(const Value& root, std::span<const Value> wrt) {
  WEFT_CHECK(root.is_staged(), "gradients() differentiates staged values");
  FunctionBuilder& builder = *root.builder();
  // Rules compute with ops like any other code; here these become nodes.
  ContextScope scope(builder);
  const Value seed = ones_like(root);
  return gradients(builder, {&root, 1}, {&seed, 1}, wrt);
}

std::vector<Value> gradients(FunctionBuilder& builder,
                             std::span<const Value> roots,
                             std::span<const Value> seeds,
                             std::span<const Value> wrt) {
  ContextScope scope(builder);
  const auto applications = applications_of(builder, wrt);
  ControlGradient control(builder);
  auto result = reverse(applications, roots, seeds, wrt, std::ref(control));
  for (std::size_t i = 0; i < result.size(); ++i) {
    // No path leads from the root to it, so it does not change the root.
    if (!result[i].is_defined()) result[i] = zeros_like(wrt[i]);
  }
  return result;
}

Function differentiate(const Function& function,
                       std::span<const std::size_t> parameters) {
  FunctionBuilder builder(function.name() + "_gradient");
  return builder.build([&] {
    const std::vector<Value> arguments = add_parameters(builder, function);
    // The function's own nodes come first, so that its results need no second
    // computation.
    std::vector<Value> results = inlined_results(builder, function, arguments);
    std::vector<Value> wrt;
    for (const std::size_t index : parameters) wrt.push_back(arguments[index]);
    for (Value& gradient : gradients(results.at(0), wrt)) {
      results.push_back(std::move(gradient));
    }
    return results;
  });
}

}  // namespace weft
