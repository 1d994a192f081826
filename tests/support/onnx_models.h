// Models of ONNX made by hand, for what reads them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "weft/base/file.h"
#include "weft/onnx/model_writer.h"
#include "weft/onnx/onnx.h"

namespace weft::test {

class OnnxModel {
 public:
  explicit OnnxModel(std::int64_t opset = 21) { model_.opset = opset; }

  OnnxModel& input(const std::string& name, const TensorType& type) {
    graph_.add_input({name, type});
    return *this;
  }
  OnnxModel& output(const std::string& name) {
    graph_.add_output(name);
    return *this;
  }
  OnnxModel& tensor(const std::string& name, const Tensor& tensor) {
    model_.tensors.push_back({name, tensor});
    return *this;
  }
  // A list of i64, as shapes and axes are.
  OnnxModel& list(const std::string& name, const Integers& values) {
    return tensor(
        name, Tensor::of<std::int64_t>({static_cast<Dim>(values.size())},
                                       std::span<const std::int64_t>(values)));
  }
  OnnxModel& node(
      const std::string& op, const std::vector<std::string>& inputs,
      const std::vector<std::string>& outputs,
      const Attributes& attributes = {},
      const std::vector<std::pair<std::string, WireWriter>>& graphs = {}) {
    graph_.add_node(op + "_node", op, inputs, outputs, attributes, graphs);
    return *this;
  }
  // The graph by itself, as the body of a node.
  WireWriter body() const { return graph_.finish("body"); }

  void save(const std::filesystem::path& path) {
    model_.graph = graph_.finish("test");
    model_.ir_version = 10;
    onnx::write_model(path, model_);
  }

 private:
  onnx::GraphBytes graph_;
  onnx::WrittenModel model_;
};

// A model of a graph that OnnxModel cannot make.
inline void save_graph(const std::filesystem::path& path,
                       const WireWriter& graph) {
  WireWriter opset;
  opset.integer(2, 21);
  WireWriter model;
  model.integer(1, 10);
  model.message(7, graph);
  model.message(8, opset);
  write_file(path, model.written());
}

// The names of the ops in a function, in their order.
inline std::vector<std::string> ops_of(const Function& function) {
  std::vector<std::string> names;
  for (const Node& node : function.nodes()) names.push_back(node.op->name());
  return names;
}

inline std::vector<Tensor> call(GraphFunction& function,
                                const std::vector<Tensor>& arguments) {
  const std::vector<Value> values(arguments.begin(), arguments.end());
  std::vector<Tensor> results;
  for (const Value& result : function.call(values)) {
    results.push_back(result.tensor());
  }
  return results;
}

}  // namespace weft::test
