// What exporters of ops see of one node (graph/onnx.h).
//
// Threads: one export.
#pragma once

#include "weft/graph/function.h"
#include "weft/onnx/exporter.h"

namespace weft::onnx {

class NodeContext final : public OnnxContext {
 public:
  NodeContext(const OpCall& call, Exporter& exporter,
              const std::vector<ExportedValue*>& operands,
              const std::vector<ExportedValue*>& results,
              const std::vector<bool>& is_read)
      : OnnxContext(call),
        exporter_(exporter),
        operands_(operands),
        results_(results),
        is_read_(is_read) {}

  std::string x(std::size_t i) override {
    return exporter_.plain(*operands_[i]);
  }
  std::string image(std::size_t i, int rank) override {
    return exporter_.image(*operands_[i], rank);
  }
  bool is_image(std::size_t i) const override {
    return operands_[i]->plain.empty() && !operands_[i]->image.empty();
  }
  void set(std::size_t i, const std::string& name) override {
    *results_[i] = exporter_.named(call().outputs[i], name, false);
  }
  void set_image(std::size_t i, const std::string& name) override {
    *results_[i] = exporter_.named(call().outputs[i], name,
                                   call().outputs[i].shape.rank() >= 3);
  }
  bool is_read(std::size_t i) const override { return is_read_[i]; }

  Names emit(const std::string& op, const Names& inputs,
             const Attributes& attributes, std::size_t outputs) override {
    return exporter_.emit(op, inputs, attributes, {}, outputs);
  }
  Names emit(const std::string& op, const Names& inputs,
             const Attributes& attributes, const std::vector<Body>& bodies,
             std::size_t outputs) override {
    return exporter_.emit(op, inputs, attributes, bodies, outputs);
  }
  std::string constant(const Tensor& tensor) override {
    return exporter_.constant(tensor);
  }
  std::string shape(const Shape& shape) override {
    return exporter_.shape(shape, false);
  }
  std::string reshaped(const Shape& shape) override {
    return exporter_.shape(shape, true);
  }
  Names run(const FunctionRef& reference, const Names& arguments) override {
    const Function& function = exporter_.function(reference);
    std::vector<ExportedValue> values;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      values.push_back(exporter_.named(function.type(function.parameters()[i]),
                                       arguments[i], false));
    }
    Names names;
    for (ExportedValue& result : exporter_.run(function, std::move(values))) {
      if (result.has_failed) throw unsupported("see above");
      names.push_back(exporter_.plain(result));
    }
    return names;
  }

 private:
  Exporter& exporter_;
  const std::vector<ExportedValue*>& operands_;
  const std::vector<ExportedValue*>& results_;
  const std::vector<bool>& is_read_;
};

}  // namespace weft::onnx
