// Adds the nodes of functions to a model of ONNX, each by its op's exporter
// (graph/onnx.h), or as what the op lowers to.
//
// Threads: one export.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "weft/graph/function.h"
#include "weft/graph/onnx.h"
#include "weft/onnx/model_writer.h"

namespace weft::onnx {

// A value of the engine's as the model has it.
struct ExportedValue {
  TensorType type = {};
  Tensor known = {};       // undefined where it is computed
  std::string plain = {};  // its name in the engine's order of axes
  std::string image = {};  // with channels first; either may be empty
  int depth = 0;           // of the graph that has it
  bool has_failed = false;
};

class Exporter {
 public:
  // `graph` has the functions that others refer to, and outlives it.
  explicit Exporter(const Graph& graph) : graph_(graph) { open(); }

  // --- The model's graph -----------------------------------------------------
  ExportedValue add_input(const std::string& name, const TensorType& type);
  // The nodes of a function on values, and its results.
  std::vector<ExportedValue> run(const Function& function,
                                 std::vector<ExportedValue> arguments);
  void add_output(const std::string& name, ExportedValue& value);
  // Throws Error(kUnsupported) naming each node that cannot be exported, why
  // and `where`.
  WrittenModel finish(const std::string& name, std::string_view where);

  // --- For exporters of ops --------------------------------------------------
  std::string plain(ExportedValue& value);
  std::string image(ExportedValue& value);
  // An image of `rank` that this one broadcasts to.
  std::string image(ExportedValue& value, int rank);
  std::vector<std::string> emit(const std::string& op,
                                const std::vector<std::string>& inputs,
                                const Attributes& attributes,
                                const std::vector<OnnxContext::Body>& bodies,
                                std::size_t outputs);
  std::string constant(const Tensor& tensor);
  std::string shape(const Shape& shape, bool one_may_follow);
  // A value of that type and name, whose dims can be read from now on.
  ExportedValue named(const TensorType& type, const std::string& name,
                      bool is_image);
  const Function& function(const FunctionRef& reference) const;

 private:
  // Where a dim stands: that axis of a value.
  struct DimSource {
    Dim dim;
    std::string name;
    int axis;
  };
  struct OpenGraph {
    GraphBytes bytes;
    std::size_t sources = 0;  // when it was opened
  };

  void open();
  void run_node(const Function& function, const Node& node,
                std::vector<ExportedValue>& values,
                const std::vector<bool>& is_read);
  void fail(const Function& function, const Node& node,
            std::vector<ExportedValue>& values, std::string reason);
  std::string fresh(const std::string& op);
  // The name, or one like it that is free.
  std::string claimed(const std::string& name);
  std::string reordered(ExportedValue& value, const std::string& from,
                        const Shape& shape, const Integers& order);
  std::string extent(Dim dim);

  const Graph& graph_;
  std::deque<OpenGraph> open_;
  std::vector<WrittenTensor> tensors_;
  std::map<std::string, std::string> small_;  // constants by type and bytes
  std::map<std::string, int> counts_;         // of names
  std::set<std::string> used_;
  std::vector<DimSource> sources_;
  std::vector<std::string> failures_;
  int depth_ = 0;  // of functions that are run
};

}  // namespace weft::onnx
