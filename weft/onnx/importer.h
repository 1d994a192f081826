// Walks through the nodes of a model and has each imported, in the current
// context; what could not be is collected.
//
// Threads: one import.
#pragma once

#include <string>
#include <vector>

#include "weft/onnx/called_functions.h"
#include "weft/onnx/node.h"
#include "weft/onnx/tensors.h"

namespace weft::onnx {

class Importer {
 public:
  // `model` and `where`, which names the file, outlive it.
  Importer(const ModelProto& model, std::string_view where,
           ExternalFiles& files);

  // The results of the model's graph on values for those inputs that are no
  // initializers. Throws Error(kUnsupported) that names each node that cannot
  // be imported, and why, or as to_tensor() does.
  std::vector<OnnxValue> run(const std::vector<OnnxValue>& arguments);

  // --- For nodes ------------------------------------------------------------
  // A graph within, whose failures are those of the model.
  std::vector<OnnxValue> run_graph(const GraphProto& graph, const Names& around,
                                   const std::vector<OnnxValue>& arguments);
  Tensor tensor_of(const TensorProto& proto);
  // Where staged ops go now.
  Context& context() const { return *context_; }

  // The names of initializers, by the addresses of their elements.
  const std::map<const void*, std::string>& names_of_tensors() const {
    return tensor_names_;
  }

 private:
  struct Failure {
    std::string node;
    std::string op;
    std::string reason;
  };
  using Opsets = std::map<std::string, std::int64_t, std::less<>>;

  std::vector<OnnxValue> run_nodes(const std::vector<NodeProto>& nodes,
                                   Names& names,
                                   const std::vector<std::string_view>& wanted);
  void run_node(const NodeProto& proto, Names& names);
  void import_node(const OnnxOpDef& def, OnnxNode& node, bool is_known);
  void load(std::string_view name, Names& names);
  void call_function(const FunctionProto& function, OnnxNode& node,
                     const NodeProto& proto);
  void fail(const NodeProto& node, Names& names, std::string reason);

  const ModelProto& model_;
  std::string_view where_;
  ExternalFiles& files_;
  CalledFunctions functions_;
  Opsets opsets_;  // of what is being imported
  Context* context_ = nullptr;
  std::vector<Failure> failures_;
  std::map<const void*, std::string> tensor_names_;
};

}  // namespace weft::onnx
