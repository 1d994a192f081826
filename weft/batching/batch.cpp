#include "weft/batching/batch.h"

#include <algorithm>

#include "weft/batching/control.h"
#include "weft/batching/instances.h"
#include "weft/graph/program.h"
#include "weft/ops/constant.h"
#include "weft/ops/support/batching.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

// Whether any dim of the function mentions this symbol.
bool mentions(const Function& function, Dim size) {
  Bindings bindings;
  // A shape that a substitution changes holds the symbol.
  bindings.bind(size, 1);
  const auto is_in = [&](const Shape& shape) {
    return substitute(shape, bindings) != shape;
  };
  for (std::size_t i = 0; i < function.value_count(); ++i) {
    if (is_in(function.type(static_cast<ValueId>(i)).shape)) return true;
  }
  for (const Node& node : function.nodes()) {
    for (const auto& [name, value] : node.attributes) {
      const auto* shape = std::get_if<Shape>(&value);
      if (shape != nullptr && is_in(*shape)) return true;
    }
  }
  return false;
}

Dim fresh_size(std::span<const Function> functions) {
  // A function may have been batched before, and has a B of its own then.
  Dim size = symbol("B");
  const auto is_taken = [&](const Function& each) {
    return mentions(each, size);
  };
  for (int i = 1; std::ranges::any_of(functions, is_taken); ++i) {
    size = symbol(fmt::format("B{}", i));
  }
  return size;
}

void check_arguments(const Function& function, const Flags& batched,
                     std::span<const BatchMode> modes) {
  const auto check = [&](std::size_t given, std::size_t expected,
                         std::string_view what) {
    if (given == expected) return;
    throw Error(ErrorCode::kInvalidArgument, "batch",
                "@{} has {} {}, but {} are described", function.name(),
                expected, what, given);
  };
  check(batched.size(), function.parameters().size(), "parameters");
  if (!modes.empty()) check(modes.size(), function.results().size(), "results");
  if (!has_any(batched)) {
    throw Error(ErrorCode::kInvalidArgument, "batch",
                "no parameter of @{} is batched", function.name())
        .hint("one of them has to say how many instances there are");
  }
}

}  // namespace

Batched batch(const Function& function,
              std::span<const bool> batched_parameters,
              std::span<const BatchMode> modes) {
  const Flags differ(batched_parameters.begin(), batched_parameters.end());
  check_arguments(function, differ, modes);
  // Composites without a rule become ops that have one, before anything is
  // batched.
  const InstanceForm form = instance_form(function, differ);
  const Function& instance = form.function;
  const Dim size = fresh_size({&instance, 1});
  // Nodes are recorded as the rules call them: lowering is done by
  // instance_form().
  FunctionBuilder builder(function.name() + "_batched",
                          /*lower_composites=*/false);
  Instances instances(form, builder, size);
  for (const ValueId id : instance.parameters()) {
    TensorType type = instance.type(id);
    if (form.depends(id)) type.shape = with_leading(size, type.shape);
    instances.set_parameter(id,
                            builder.parameter(type, instance.value(id).name));
  }
  const auto is_summed = [&](std::size_t result) {
    return !modes.empty() && modes[result] == BatchMode::kSum;
  };
  std::vector<bool> is_stacked;
  Function batched = builder.build([&] {
    const auto& ids = instance.results();
    std::vector<Value> results(ids.size());
    // What is stacked is emitted first, since sums can use it.
    for (const bool summed : {false, true}) {
      for (std::size_t i = 0; i < ids.size(); ++i) {
        if (is_summed(i) != summed) continue;
        results[i] =
            summed ? instances.summed(ids[i]) : instances.stacked(ids[i]);
      }
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
      is_stacked.push_back(!is_summed(i) && form.depends(ids[i]));
    }
    return results;
  });
  return {std::move(batched), size, std::move(is_stacked)};
}

BatchedGraph batch(const Graph& graph, std::string_view entry,
                   const std::vector<bool>& batched_parameters) {
  const Function& function = *graph.find(entry);
  check_arguments(function, batched_parameters, {});
  const Dim size = fresh_size(graph.functions);
  const Differing differing(graph, function, batched_parameters);
  const Flags stacked =
      differing.of_results(reference_to(function), batched_parameters);
  Program program(graph);
  BatchedControl control(program, differing, size);
  // The program's own builder, so that functions that are made for branches and
  // calls go beside this one.
  FunctionBuilder& builder =
      program.builder(program.unique_name(function.name() + ".batched"));
  const FunctionRef made = program.add(builder.build([&] {
    std::vector<Value> arguments;
    for (std::size_t i = 0; i < batched_parameters.size(); ++i) {
      const ValueInfo& info = function.value(function.parameters()[i]);
      TensorType type = info.type;
      if (batched_parameters[i]) type.shape = with_leading(size, type.shape);
      arguments.push_back(builder.parameter(type, info.name));
    }
    // All instances are computed.
    const Value mask = full({DType::kBool, {size}}, 1);
    return control.results(function,
                           {batched_parameters, stacked, arguments.size()},
                           arguments, mask);
  }));
  return {program.build(), made.name, stacked};
}

}  // namespace weft
