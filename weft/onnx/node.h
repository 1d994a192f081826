// What an importer of an ONNX op is given, and the registry of importers.
//
// An importer is a function in a file of weft/onnx/ops/, which covers a family
// of ops:
//
//   void import_relu(OnnxNode& node) {
//     node.set(elementwise(node, [](auto& x) { return relu(x[0]); }));
//   }
//   void register_onnx_activations(OnnxRegistry& ops) {
//     ops.add({.name = "Relu", .import = import_relu});
//   }
//
// Where all operands are known while importing, the same function runs
// eagerly: so constants are folded, and shapes that a model computes are
// numbers by the time when they are needed.
//
// Threads: the registry is immutable; a node belongs to one import.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "weft/graph/context.h"
#include "weft/onnx/model.h"
#include "weft/onnx/value.h"

namespace weft::onnx {

class Importer;

// The values of a graph by name; those of graphs around it are found too.
struct Names {
  std::map<std::string, OnnxValue, std::less<>> values = {};
  // Initializers that nothing has read yet.
  std::map<std::string, const TensorProto*, std::less<>> tensors = {};
  // What could not be imported: who needs it has been told why.
  std::set<std::string, std::less<>> failed = {};
  const Names* outer = nullptr;

  const OnnxValue* find(std::string_view name) const;
  bool has_failed(std::string_view name) const;
};

class OnnxNode {
 public:
  OnnxNode(Importer& importer, const NodeProto& proto, Names& names,
           std::int64_t opset, std::vector<OnnxValue> operands)
      : importer_(importer),
        proto_(proto),
        names_(names),
        opset_(opset),
        operands_(std::move(operands)),
        results_(proto.outputs.size()) {}

  std::string_view op() const { return proto_.op; }
  std::int64_t opset() const { return opset_; }

  // --- Operands -------------------------------------------------------------
  std::size_t operand_count() const { return operands_.size(); }
  bool has(std::size_t i) const {
    return i < operands_.size() && operands_[i].is_defined();
  }
  // Throw Error(kDataLoss) for an operand that is missing.
  const OnnxValue& operand(std::size_t i) const;
  Value input(std::size_t i) const { return operand(i).plain(); }
  Value input_or(std::size_t i, const Value& otherwise) const {
    return has(i) ? input(i) : otherwise;
  }
  // What an operand is, in every run. Throws Error(kUnsupported) saying which
  // operand would have to be known, unless it is.
  Tensor known(std::size_t i) const;
  Integers known_integers(std::size_t i) const;
  std::int64_t known_integer(std::size_t i) const;
  double known_real(std::size_t i) const;
  // The same for the numbers of shapes, which may be dims with symbols.
  Extents extents(std::size_t i) const;

  // --- Attributes -----------------------------------------------------------
  // Throw Error(kDataLoss) for one of another kind, and where there is no
  // default, for one that is missing.
  bool has_attribute(std::string_view name) const;
  std::int64_t integer(std::string_view name,
                       std::optional<std::int64_t> otherwise = {}) const;
  double real(std::string_view name,
              std::optional<double> otherwise = {}) const;
  // An integer or a float, which ops differ in.
  double number(std::string_view name, double otherwise) const;
  std::string text(std::string_view name,
                   std::optional<std::string> otherwise = {}) const;
  Integers integers(std::string_view name, Integers otherwise = {}) const;
  std::vector<float> reals(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  Tensor tensor(std::string_view name) const;
  DType dtype(std::string_view name, DType otherwise) const;
  // Integers that newer opsets have as an operand, older ones as an attribute;
  // nothing where both are left out.
  std::optional<Integers> integers(std::string_view name,
                                   std::size_t operand) const;
  // `axis`, or another attribute, between 0 and the rank of `x`.
  int axis(std::string_view name, std::int64_t otherwise, int rank) const;

  // --- Results --------------------------------------------------------------
  std::size_t result_count() const { return results_.size(); }
  bool wants(std::size_t i) const {
    return i < results_.size() && !proto_.outputs[i].empty();
  }
  void set(OnnxValue value) { set(0, std::move(value)); }
  void set(std::size_t i, OnnxValue value);
  // Values for the first results.
  void set_all(const std::vector<Value>& values);
  std::vector<OnnxValue>& results() { return results_; }

  // --- Graphs that the node runs --------------------------------------------
  const GraphProto& graph(std::string_view name) const;
  // What a graph makes of arguments, added to the current context; it sees the
  // values around the node.
  std::vector<OnnxValue> run(const GraphProto& graph,
                             const std::vector<OnnxValue>& arguments) const;

  // Where ops are added, whatever is known: for results that are much larger
  // than what they are made from.
  Context& graph_context() const;

  template <class... Args>
  Error unsupported(fmt::format_string<Args...> format, Args&&... args) const {
    return {ErrorCode::kUnsupported, std::string(op()),
            fmt::format(format, std::forward<Args>(args)...)};
  }
  template <class... Args>
  Error damaged(fmt::format_string<Args...> format, Args&&... args) const {
    return {ErrorCode::kDataLoss, std::string(op()),
            fmt::format(format, std::forward<Args>(args)...)};
  }

 private:
  const AttributeProto* find(std::string_view name,
                             AttributeProto::Kind kind) const;
  Error must_be_known(std::size_t i) const;

  Importer& importer_;
  const NodeProto& proto_;
  Names& names_;
  std::int64_t opset_;
  std::vector<OnnxValue> operands_;
  std::vector<OnnxValue> results_;
};

using ImportFunction = void (*)(OnnxNode&);

struct OnnxOpDef {
  std::string name;
  std::string domain = "";
  // The opsets that the importer reads. Before 7, many ops had other attributes
  // and no broadcasting.
  std::int64_t since = 7;
  std::int64_t until = 1 << 30;
  ImportFunction import = nullptr;
  // Runs only in the graph: what it draws is no constant.
  bool is_random = false;
};

}  // namespace weft::onnx

namespace weft {

class OnnxRegistry {
 public:
  void add(onnx::OnnxOpDef def) { defs_.push_back(std::move(def)); }
  // Asserts that no opset has two importers of an op.
  void freeze();

  // Null if there is none for this opset.
  const onnx::OnnxOpDef* find(std::string_view domain, std::string_view name,
                              std::int64_t opset) const;
  // Whether there is one for any opset.
  bool knows(std::string_view domain, std::string_view name) const;
  const std::deque<onnx::OnnxOpDef>& all() const { return defs_; }

 private:
  std::deque<onnx::OnnxOpDef> defs_;
  std::multimap<std::string, const onnx::OnnxOpDef*, std::less<>> by_name_;
};

// It is filled from the files of weft/onnx/ops.
const OnnxRegistry& onnx_registry();

}  // namespace weft
