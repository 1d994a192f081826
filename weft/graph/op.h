// What an op is: one entry that carries everything Weft knows about it. The
// text form, its Python name, the operations that `weft inspect`, the cost
// table and fusion count, and the property tests are derived from it; fused
// loops ask a table of their own (kernels/loop/tile_functions.h) for what they
// can compute.
//
// Threads: an OpDef is immutable once its registry is frozen.
#pragma once

#include <functional>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/attributes.h"

namespace weft {

class BatchContext;
class GradientContext;
class OnnxContext;
class OpDef;
class Value;
// Gives one gradient per input; an undefined Value where none flows.
using Gradients = std::vector<Value>;

// One use of an op: what inference, cost and kernel choice may look at.
struct OpCall {
  const OpDef& op;
  std::span<const TensorType> inputs;
  const Attributes& attributes;
  // Filled once inference has run; empty before.
  std::span<const TensorType> outputs = {};
  // The values of operands that are known to be the same in every run, null for
  // others; empty where none is. A kernel may keep what it makes of one, packed
  // weights say, instead of reading it in every run.
  std::span<const Tensor* const> known = {};
  // Not 0 for a result that nobody reads, which a kernel may leave unwritten;
  // empty where all are read.
  std::span<const std::uint8_t> unread = {};

  const TensorType& input(std::size_t index) const { return inputs[index]; }
  bool has_input(std::size_t index) const { return index < inputs.size(); }
  const Tensor* known_input(std::size_t index) const {
    return index < known.size() ? known[index] : nullptr;
  }
  bool is_read(std::size_t result) const {
    return result >= unread.size() || unread[result] == 0;
  }

  // The caller's mistake: an Error that names the op and shows its operands.
  // The builder adds where the op was called.
  template <class... Args>
  Error error(fmt::format_string<Args...> format, Args&&... args) const {
    return describe(format, fmt::make_format_args(args...));
  }

 private:
  Error describe(fmt::string_view format, fmt::format_args args) const;
};

struct Cost {
  double flops = 0;  // a function counts as many additions as take its time
  double bytes = 0;  // read and written, each operand once

  // flops_per_element on every output element, operands read once.
  static Cost elementwise(const OpCall& call, double flops_per_element);
  // `flops` in all, operands read once.
  static Cost of(const OpCall& call, double flops);
};

// How property tests make an input.
struct InputSample {
  TensorType type;
  double low = -1;
  double high = 1;
  bool is_differentiable = true;  // compared with finite differences
};

struct OpSample {
  std::vector<InputSample> inputs;
  Attributes attributes;
};

using InferFunction = std::vector<TensorType> (*)(const OpCall&);
using ReferenceFunction = void (*)(const OpCall&,
                                   std::span<const TensorView> inputs,
                                   std::span<const TensorView> outputs);
using GradientFunction = Gradients (*)(const GradientContext&);
// The results for many instances at once (graph/batch.h).
using BatchFunction = std::vector<Value> (*)(const BatchContext&);
using CostFunction = Cost (*)(const OpCall&);
using SamplesFunction = std::vector<OpSample> (*)();
// Adds the nodes of ONNX that compute the same (graph/onnx.h).
using OnnxFunction = void (*)(OnnxContext&);
// Expresses a composite op by others; returns its outputs.
using LowerFunction = std::vector<Value> (*)(const Attributes&,
                                             std::span<const Value> inputs);

enum OpTrait : unsigned {
  kElementwise = 1u << 0,  // y[i] depends on the operands' broadcast [i]
  kView = 1u << 1,         // the output is the first input's bytes
  kCommutative = 1u << 2,
  kNoGradient = 1u << 3,  // piecewise constant or integer: none flows
  kRandom = 1u << 4,      // keyed by (seed, step): never constant-folded
  kCollective = 1u << 5,  // meets the same op on other ranks (collectives.h)
  kControl = 1u << 6,     // runs functions of its graph: no kernel can
  kHost = 1u << 7,        // runs code of the program (host_function.h)
};

class OpDef {
 public:
  explicit OpDef(std::string name);
  OpDef(OpDef&& other) noexcept;
  ~OpDef();

  // --- Declaration; each returns *this -----------------------------------
  OpDef& summary(std::string text);
  // Operand and result names: "(x, w, bias?) -> y", "(xs...) -> y". A '?'
  // marks trailing optional operands, '...' any number (at least one), '...?'
  // any number or none.
  OpDef& signature(std::string_view text);
  OpDef& attribute(std::string name, Attribute default_value);
  // `kind` is an example value; the caller must give the attribute.
  OpDef& required(std::string name, Attribute kind);
  OpDef& traits(unsigned bits);
  OpDef& infer(InferFunction function);
  OpDef& reference(ReferenceFunction function);
  OpDef& gradient(GradientFunction function);
  // `sum` computes the results summed over the instances without computing
  // each; it returns no values where that is not possible.
  OpDef& batch(BatchFunction function, BatchFunction sum = nullptr);
  OpDef& lower(LowerFunction function);
  // Without it an op is exported as what it lowers to, if it does.
  OpDef& onnx(OnnxFunction function);
  OpDef& cost(CostFunction function);
  OpDef& samples(SamplesFunction function);

  // --- Reading ----------------------------------------------------------
  const std::string& name() const { return name_; }
  const std::string& summary() const { return summary_; }
  const std::string& signature() const { return signature_; }
  bool has(OpTrait trait) const { return (traits_ & trait) != 0; }
  const std::vector<std::string>& input_names() const { return inputs_; }
  const std::vector<std::string>& output_names() const { return outputs_; }
  std::string input_name(std::size_t index) const;
  std::size_t min_inputs() const { return min_inputs_; }
  bool is_variadic() const { return is_variadic_; }

  struct AttributeSchema {
    std::string name;
    Attribute value;  // the default, or an example of the kind
    bool is_required;
  };
  const std::vector<AttributeSchema>& attribute_schema() const {
    return attributes_;
  }

  InferFunction infer() const { return infer_; }
  ReferenceFunction reference() const { return reference_; }
  GradientFunction gradient() const { return gradient_; }
  BatchFunction batch() const { return batch_; }
  BatchFunction batch_sum() const { return batch_sum_; }
  LowerFunction lower() const { return lower_; }
  OnnxFunction onnx() const { return onnx_; }
  CostFunction cost() const { return cost_; }
  SamplesFunction samples() const { return samples_; }

  // Fills defaults and checks names and kinds. Throws
  // Error(kInvalidArgument) naming the nearest known attribute.
  Attributes complete(const Attributes& given) const;
  // Checks the number of operands, then infers. Throws
  // Error(kInvalidArgument) that shows the operands.
  std::vector<TensorType> infer_types(std::span<const TensorType> inputs,
                                      const Attributes& attributes) const;

 private:
  std::string name_;
  std::string summary_;
  std::string signature_;
  std::vector<std::string> inputs_;
  std::vector<std::string> outputs_;
  std::size_t min_inputs_ = 0;
  bool is_variadic_ = false;
  std::vector<AttributeSchema> attributes_;
  unsigned traits_ = 0;
  InferFunction infer_ = nullptr;
  ReferenceFunction reference_ = nullptr;
  GradientFunction gradient_ = nullptr;
  BatchFunction batch_ = nullptr;
  BatchFunction batch_sum_ = nullptr;
  LowerFunction lower_ = nullptr;
  OnnxFunction onnx_ = nullptr;
  CostFunction cost_ = nullptr;
  SamplesFunction samples_ = nullptr;
};

}  // namespace weft
