// What the exporter of an op to ONNX is given: its operands and results as
// names of values there, and a way to add nodes. What a file is made of is
// known to weft/onnx alone.
//
// ONNX's images have their channels behind the batch, the engine's have them
// last. A value may be there in either order; the other one is made when an
// exporter asks for it, so that neighbours that want the same need no
// transposition between them.
//
// Threads: that of whoever exports.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/graph/op.h"

namespace weft {

class OnnxContext {
 public:
  using Names = std::vector<std::string>;

  virtual ~OnnxContext() = default;

  const OpCall& call() const { return call_; }
  const Attributes& attributes() const { return call_.attributes; }
  const TensorType& type(std::size_t input) const { return call_.input(input); }
  std::size_t input_count() const { return call_.inputs.size(); }

  // --- Operands and results --------------------------------------------------
  // An operand's name, in the engine's order of axes, and with channels first.
  virtual std::string x(std::size_t input) = 0;
  std::string image(std::size_t input) {
    return image(input, type(input).shape.rank());
  }
  // The same for one of fewer axes, which broadcasts to an image of `rank`.
  virtual std::string image(std::size_t input, int rank) = 0;
  // Whether only the one with channels first is there.
  virtual bool is_image(std::size_t input) const = 0;
  // Says which value of ONNX a result is, in either order.
  virtual void set(std::size_t output, const std::string& name) = 0;
  virtual void set_image(std::size_t output, const std::string& name) = 0;
  void set(const std::string& name) { set(0, name); }
  void set_image(const std::string& name) { set_image(0, name); }
  // Whether anybody reads a result.
  virtual bool is_read(std::size_t output) const = 0;

  // --- Nodes -----------------------------------------------------------------
  // Adds a node and returns the names of its results. An operand without a name
  // is left out. Attributes are integers, reals, texts, lists of integers,
  // tensors, and dtypes, which become ONNX's numbers.
  virtual Names emit(const std::string& op, const Names& inputs,
                     const Attributes& attributes, std::size_t outputs) = 0;
  std::string emit(const std::string& op, const Names& inputs,
                   const Attributes& attributes = {}) {
    return emit(op, inputs, attributes, 1).front();
  }
  // A tensor of the model.
  virtual std::string constant(const Tensor& tensor) = 0;
  std::string number(double value, DType dtype);
  std::string list(const Integers& values);
  // The dims of a shape as a vector; those with symbols are read off a value
  // that has them. Throws Error(kUnsupported) where none has.
  virtual std::string shape(const Shape& shape) = 0;
  // The same for a reshape of an operand, whose size tells one dim.
  virtual std::string reshaped(const Shape& shape) = 0;

  // --- Functions -------------------------------------------------------------
  // Adds the nodes of a function of the graph; returns its results.
  virtual Names run(const FunctionRef& function, const Names& arguments) = 0;
  // A node that runs graphs. While `build` runs, nodes are added to its graph;
  // it is given the names of inputs of these types, and returns results. What
  // is around the node has names there too.
  struct Body {
    std::string attribute;
    std::vector<TensorType> inputs;
    std::function<Names(const Names&)> build;
  };
  virtual Names emit(const std::string& op, const Names& inputs,
                     const Attributes& attributes,
                     const std::vector<Body>& bodies, std::size_t outputs) = 0;

  template <class... Args>
  Error unsupported(fmt::format_string<Args...> format, Args&&... args) const {
    return {ErrorCode::kUnsupported, call_.op.name(),
            fmt::format(format, std::forward<Args>(args)...)};
  }

 protected:
  explicit OnnxContext(const OpCall& call) : call_(call) {}

 private:
  OpCall call_;
};

}  // namespace weft
