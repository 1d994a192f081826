// A staged function in a file, to be run without the program that made it: the
// graph as text, and the values of what it captured, in one safetensors file.
//
//   export_function("model.weft", *predict.graph(x));
//   ExportedFunction model("model.weft");
//   const Tensor y = model.run({x})[0];
//
// Format: "weft.graph" of the metadata is the text form of all functions;
// "weft.function" is
//   {"format": 1, "entry": "predict.1", "hidden":
//     [{"tensor": "weight", "kind": "constant"}, …]}
// where kind is "constant", "variable" or "assigned", and the hidden
// parameters come last.
//
// Threads: caller synchronises.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "weft/files/safetensors.h"
#include "weft/runtime/jit/graph_function.h"

namespace weft {

// Writes the file atomically, with `more` beside its own metadata. Throws
// Error(kUnsupported) for a function that calls code of the host, captured
// values of a function around it or draws with the random key around its call,
// Error(kInvalidArgument) for a variable that died or has no value, and as
// write_safetensors() does.
void export_function(const std::filesystem::path& path,
                     const GraphFunction& function,
                     const TextMetadata& more = {});

// Whether a function was exported to this file. False where there is none, and
// where it cannot be read.
bool is_exported_function(const std::filesystem::path& path);

// What the metadata says beside the graph. Throws Error(kDataLoss) naming
// `where`.
struct ExportedHidden {
  std::string tensor;
  bool is_variable = false;
  bool is_assigned = false;
};
struct ExportedInfo {
  std::string entry;
  std::vector<ExportedHidden> hidden;
};
ExportedInfo parse_exported_info(std::string_view text, std::string_view where);

class ExportedFunction {
 public:
  // `tagged` is for a function that branches, loops or calls itself. Throws
  // Error(kDataLoss) for a damaged file or one of another kind.
  explicit ExportedFunction(const std::filesystem::path& path,
                            TaggedOptions tagged = {});

  // The arguments' names and types; dims may be symbols.
  struct Argument {
    std::string name;
    TensorType type;
  };
  const std::vector<Argument>& arguments() const { return arguments_; }
  // The types of what run() returns.
  std::vector<TensorType> result_types() const;

  // Throws Error(kInvalidArgument) for another number than there are.
  void check_count(const std::vector<Tensor>& arguments) const;

  // Variables keep what the function assigned for the next run. Throws
  // Error(kInvalidArgument) for arguments that do not fit.
  std::vector<Tensor> run(const std::vector<Tensor>& arguments);

  // The graph, whose function takes the arguments and then the hidden values;
  // to be run by several ranks, comm/graph/exported_ranks.h.
  const GraphFunction& function() const { return *function_; }

 private:
  std::vector<Argument> arguments_;
  std::vector<Variable> variables_;
  std::unique_ptr<GraphFunction> function_;
};

}  // namespace weft
