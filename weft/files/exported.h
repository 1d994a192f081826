// A staged function in a file, to be run without the program that made it: the
// graph as text, and the values of what it captured, in one safetensors file.
//
//   export_function("model.weft", *predict.graph(x));
//   ExportedFunction model("model.weft");
//   const Tensor y = model.run({x})[0];
//
// A file may have further functions by name, as the model of `weft export` has
// one to measure with. They share the tensors that they have in common.
//
// Format: "weft.graph" of the metadata is the text form of all functions that
// the main one calls; "weft.function" is
//   {"format": 2, "entry": "predict.1", "hidden":
//     [{"tensor": "weight", "kind": "constant"}, …]}
// where kind is "constant", "variable" or "assigned", and the hidden
// parameters come last. A further function has "weft.graph.NAME" and
// "weft.function.NAME". "weft.checksum" tells a file that is damaged by mistake
// (base/checksum.h); it is no signature.
//
// Tensors that are not assigned stay in the file, which is mapped: functions of
// several processes share their memory.
//
// Threads: run() may be called on several threads at once, unless the function
//          assigns variables; else the caller synchronises.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weft/files/safetensors.h"
#include "weft/runtime/jit/graph_function.h"

namespace weft {

// The name of the function that `weft run` runs.
inline constexpr const char* kMainFunction = "";

// Writes the file atomically, with `more` beside its own metadata. Throws
// Error(kUnsupported) for a function that calls code of the host, captured
// values of a function around it or draws with the random key around its call,
// Error(kInvalidArgument) for a variable that died or has no value, and as
// write_safetensors() does.
void export_function(const std::filesystem::path& path,
                     const GraphFunction& function,
                     const TextMetadata& more = {});
// The same for several, by name; kMainFunction is one of them.
using FunctionsByName = std::map<std::string, const GraphFunction*>;
void export_functions(const std::filesystem::path& path,
                      const FunctionsByName& functions,
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
  int format = 0;
  std::string entry;
  std::vector<ExportedHidden> hidden;
};
ExportedInfo parse_exported_info(std::string_view text, std::string_view where);

// An open file of functions.
class ExportedFile {
 public:
  // Reads all of the file once, to check it. Throws Error(kDataLoss) for a
  // damaged file or one of another kind.
  explicit ExportedFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file_.path(); }
  const SafetensorsFile& tensors() const { return file_; }
  const TextMetadata& metadata() const { return file_.metadata(); }
  bool has(std::string_view function) const;
  // What the metadata has under `key`. Throws Error(kDataLoss) if it has not.
  const std::string& text(const std::string& key) const;

 private:
  SafetensorsFile file_;
};

// What the metadata of such a file says beside its functions.
TextMetadata texts_beside_functions(const TextMetadata& metadata);

class ExportedFunction {
 public:
  // What is frozen and donated is decided here, not by `options`. Throws
  // Error(kDataLoss) for a damaged file or one of another kind.
  explicit ExportedFunction(const std::filesystem::path& path,
                            ExecutableOptions options = {});
  ExportedFunction(const ExportedFile& file, std::string_view name,
                   ExecutableOptions options = {});
  // One that comes from elsewhere than a file. It must not assign variables.
  explicit ExportedFunction(GraphFunctionRef function);

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
  // Makes plans for arguments of these types by runs, and for as many calls at
  // once. Variables keep their values. Throws as run() does.
  void prepare(const std::vector<Tensor>& arguments, std::size_t copies);

  // The graph, whose function takes the arguments and then the hidden values;
  // to be run by several ranks, comm/graph/exported_ranks.h.
  const GraphFunction& function() const { return *function_; }

 private:
  void add_arguments(const Function& entry, std::size_t count);

  std::vector<Argument> arguments_;
  std::vector<Variable> variables_;
  GraphFunctionRef function_;
};

}  // namespace weft
