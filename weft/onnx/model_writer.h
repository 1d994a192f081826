// A model of ONNX being written: nodes and tensors of graphs, and the file that
// they become.
//
// Threads: caller synchronises.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "weft/graph/attributes.h"
#include "weft/onnx/wire.h"
#include "weft/tensor/tensor.h"

namespace weft::onnx {

// An input or a result of a graph.
struct WrittenValue {
  std::string name;
  TensorType type;
};

// A graph by its parts, which are messages.
class GraphBytes {
 public:
  // A node, whose attributes are as OnnxContext::emit() has them; `graphs` are
  // attributes too. Throws Error(kInternal) for an attribute of another kind.
  void add_node(const std::string& name, const std::string& op,
                const std::vector<std::string>& inputs,
                const std::vector<std::string>& outputs,
                const Attributes& attributes,
                const std::vector<std::pair<std::string, WireWriter>>& graphs);
  void add_input(const WrittenValue& value);
  // Inner graphs may leave the type to be inferred.
  void add_output(const WrittenValue& value);
  void add_output(const std::string& name);
  // Without the tensors, which the file has at its end.
  WireWriter finish(const std::string& name) const;

 private:
  WireWriter nodes_;
  WireWriter inputs_;
  WireWriter outputs_;
};

struct WrittenTensor {
  std::string name;
  Tensor tensor;
};

struct WrittenModel {
  WireWriter graph;
  std::vector<WrittenTensor> tensors;
  std::int64_t opset = 0;
  std::int64_t ir_version = 0;
};

// Writes the file atomically, tensors one after another; `beside`, or where
// they are too large for a file of this format, 2 GB, in "NAME.CHECKSUM.data"
// beside it: whoever reads the model finds the data that it was written with.
// Data that was written for a model of this name before is removed at the end.
// Throws as AtomicFile does.
void write_model(const std::filesystem::path& path, const WrittenModel& model,
                 bool beside = false);

}  // namespace weft::onnx
