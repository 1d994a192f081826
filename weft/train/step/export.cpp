#include "weft/train/step/export.h"

#include "weft/compiler/dead_nodes.h"
#include "weft/files/exported.h"
#include "weft/graph/function_copy.h"
#include "weft/graph/program.h"
#include "weft/train/step/staged_step.h"

namespace weft {
namespace {

// A checkpoint that is overwritten by mistake is gone.
void refuse_to_replace(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored) || is_exported_function(path)) {
    return;
  }
  throw Error(ErrorCode::kInvalidArgument, path.string(),
              "stands there already, and is no exported function")
      .hint("choose another name, or remove it");
}

std::vector<bool> used_values(const Function& function) {
  std::vector<bool> is_used(function.value_count());
  const auto use = [&](const std::vector<ValueId>& ids) {
    for (const ValueId id : ids) is_used[static_cast<std::size_t>(id)] = true;
  };
  for (const Node& node : function.nodes()) use(node.inputs);
  use(function.results());
  return is_used;
}

// What an entry that is no input becomes in the file.
Hidden hidden_of(const Entry& entry, std::vector<Variable>& variables) {
  if (entry.role != EntryRole::kCarried) {
    Hidden hidden = Hidden::captured(entry.memory);
    hidden.name = entry.name;
    return hidden;
  }
  // A model in use begins with nothing carried.
  variables.emplace_back(Tensor::zeros(entry.type),
                         VariableOptions{entry.name});
  Hidden hidden = Hidden::of(variables.back().state());
  hidden.is_assigned = true;
  return hidden;
}

}  // namespace

void export_step(const std::filesystem::path& path,
                 const StepDescription& description) {
  refuse_to_replace(path);
  Program program;
  FunctionBuilder& builder = program.builder(name_of(StepCut::kExport));
  StagedStep staged(description, StepCut::kExport, builder);
  std::vector<const Entry*> entries;  // of the parameters
  for (std::size_t i = 0; i < description.entries().size(); ++i) {
    if (staged.is_read(i)) entries.push_back(&description.entries()[i]);
  }
  const Function function =
      // What only training needs must not be in the file, nor the parameters
      // that it reads.
      eliminate_dead_nodes(builder.build([&] { return staged.compute(); }));

  // Arguments come first in a file, and what is hidden last.
  const std::vector<bool> is_used = used_values(function);
  FunctionCopy copy(function, function.name());
  std::vector<Variable> variables;  // which hidden ones refer to weakly
  std::vector<Hidden> hidden;
  for (const bool wants_inputs : {true, false}) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const ValueId parameter = function.parameters()[i];
      const bool is_input = entries[i]->role == EntryRole::kInput;
      if (is_input != wants_inputs) continue;
      const bool is_needed = is_used[static_cast<std::size_t>(parameter)];
      // Inputs stay, needed or not: callers give them in order.
      if (!is_input && !is_needed) continue;
      copy.add_parameter(parameter);
      if (!is_input) hidden.push_back(hidden_of(*entries[i], variables));
    }
  }
  for (const Node& node : function.nodes()) copy.add_node(node);
  program.add(copy.finish());
  export_function(
      path, GraphFunction(program.build(), function.name(), std::move(hidden)));
}

}  // namespace weft
