#include "weft/train/step/export.h"

#include <algorithm>

#include "weft/compiler/dead_nodes.h"
#include "weft/files/exported.h"
#include "weft/graph/function_copy.h"
#include "weft/graph/program.h"
#include "weft/train/step/staged_step.h"
#include "weft/train/step/step_functions.h"

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

// Arguments come with each call; all else is kept in the file. What measuring
// draws differs from batch to batch.
bool is_argument(StepCut cut, EntryRole role) {
  return role == EntryRole::kInput ||
         (role == EntryRole::kKey && cut == StepCut::kEvaluate);
}

// A cut of the description that keeps its values, and the variables that it
// refers to weakly.
struct ExportedCut {
  std::unique_ptr<GraphFunction> function;
  std::vector<Variable> variables;
};

ExportedCut export_cut(const StepDescription& description, StepCut cut) {
  Program program;
  FunctionBuilder& builder = program.builder(name_of(cut));
  StagedStep staged(description, cut, builder);
  std::vector<const Entry*> entries;  // of the parameters
  std::ptrdiff_t carried = 0;
  for (std::size_t i = 0; i < description.entries().size(); ++i) {
    const Entry& entry = description.entries()[i];
    if (staged.is_read(i)) entries.push_back(&entry);
    carried += entry.role == EntryRole::kCarried ? 1 : 0;
  }
  const Function function =
      // What only training needs must not be in the file, nor the parameters
      // that it reads.
      eliminate_dead_nodes(builder.build([&] {
        std::vector<Value> results = staged.compute();
        // What is assigned comes last in a file; among the entries, what is
        // carried comes before the measures.
        if (cut == StepCut::kEvaluate) {
          std::rotate(results.begin(), results.begin() + carried,
                      results.end());
        }
        return results;
      }));

  // Arguments come first in a file, and what is hidden last.
  const std::vector<bool> is_used = used_values(function);
  FunctionCopy copy(function, function.name());
  ExportedCut result;
  std::vector<Hidden> hidden;
  for (const bool wants_arguments : {true, false}) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const ValueId parameter = function.parameters()[i];
      const bool is_given = is_argument(cut, entries[i]->role);
      if (is_given != wants_arguments) continue;
      const bool is_needed = is_used[static_cast<std::size_t>(parameter)];
      // Arguments stay, needed or not: callers give them in order.
      if (!is_given && !is_needed) continue;
      copy.add_parameter(parameter);
      if (!is_given) hidden.push_back(hidden_of(*entries[i], result.variables));
    }
  }
  for (const Node& node : function.nodes()) copy.add_node(node);
  program.add(copy.finish());
  result.function = std::make_unique<GraphFunction>(
      program.build(), function.name(), std::move(hidden));
  return result;
}

}  // namespace

void export_step(const std::filesystem::path& path,
                 const StepDescription& description, const TextMetadata& more) {
  refuse_to_replace(path);
  const ExportedCut predict = export_cut(description, StepCut::kExport);
  const ExportedCut evaluate = export_cut(description, StepCut::kEvaluate);
  FunctionsByName functions{{kMainFunction, predict.function.get()},
                            {kEvaluateFunction, evaluate.function.get()}};
  const auto added = task_functions(description);
  for (const auto& [name, function] : added) functions[name] = function.get();
  // The task's read the model's variables, where averages may stand in.
  const InUseScope in_use(description);
  export_functions(path, functions, more);
}

}  // namespace weft
