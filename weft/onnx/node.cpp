#include "weft/onnx/node.h"

#include <algorithm>

#include "weft/base/utf8.h"
#include "weft/onnx/importer.h"
#include "weft/onnx/tensors.h"
#include "weft/onnx/wire.h"

namespace weft {

void OnnxRegistry::freeze() {
  for (const onnx::OnnxOpDef& def : defs_) {
    const auto [first, last] = by_name_.equal_range(def.name);
    for (auto other = first; other != last; ++other) {
      const onnx::OnnxOpDef& known = *other->second;
      WEFT_CHECK(known.domain != def.domain || known.until < def.since ||
                     def.until < known.since,
                 "ONNX's '{}' has two importers", def.name);
    }
    by_name_.emplace(def.name, &def);
  }
}

const onnx::OnnxOpDef* OnnxRegistry::find(std::string_view domain,
                                          std::string_view name,
                                          std::int64_t opset) const {
  const auto [first, last] = by_name_.equal_range(name);
  for (auto found = first; found != last; ++found) {
    const onnx::OnnxOpDef& def = *found->second;
    if (def.domain == domain && def.since <= opset && opset <= def.until) {
      return &def;
    }
  }
  return nullptr;
}

bool OnnxRegistry::knows(std::string_view domain, std::string_view name) const {
  const auto [first, last] = by_name_.equal_range(name);
  return std::any_of(first, last, [&](const auto& entry) {
    return entry.second->domain == domain;
  });
}

namespace onnx {

const OnnxValue* Names::find(std::string_view name) const {
  const auto found = values.find(name);
  if (found != values.end()) return &found->second;
  return outer == nullptr ? nullptr : outer->find(name);
}

bool Names::has_failed(std::string_view name) const {
  if (values.contains(name)) return false;
  return failed.contains(name) || (outer != nullptr && outer->has_failed(name));
}

const OnnxValue& OnnxNode::operand(std::size_t i) const {
  if (!has(i)) throw damaged("operand {} is missing", i);
  return operands_[i];
}

Error OnnxNode::must_be_known(std::size_t i) const {
  return unsupported(
      "operand '{}' is computed from inputs of the graph, but "
      "shapes and constants must not depend on them",
      proto_.inputs[i]);
}

Tensor OnnxNode::known(std::size_t i) const {
  if (!operand(i).is_known()) throw must_be_known(i);
  // What is known is there in ONNX's order.
  return operands_[i].plain().tensor();
}

Extents OnnxNode::extents(std::size_t i) const {
  const std::optional<Extents> found = operand(i).extents();
  if (!found) throw must_be_known(i);
  return *found;
}

Integers OnnxNode::known_integers(std::size_t i) const {
  Integers numbers;
  for (const Extent& extent : extents(i)) {
    if (extent.is_symbolic) throw must_be_known(i);
    numbers.push_back(extent.value);
  }
  return numbers;
}

std::int64_t OnnxNode::known_integer(std::size_t i) const {
  const Integers numbers = known_integers(i);
  if (numbers.size() != 1) {
    throw damaged("operand '{}' is not one number", proto_.inputs[i]);
  }
  return numbers[0];
}

double OnnxNode::known_real(std::size_t i) const {
  const Tensor tensor = known(i);
  if (tensor.size() != 1) {
    throw damaged("operand '{}' is not one number", proto_.inputs[i]);
  }
  return tensor.item();
}

bool OnnxNode::has_attribute(std::string_view name) const {
  return proto_.find(name) != nullptr;
}

const AttributeProto* OnnxNode::find(std::string_view name,
                                     AttributeProto::Kind kind) const {
  const AttributeProto* found = proto_.find(name);
  if (found != nullptr && found->kind != kind) {
    throw damaged("attribute '{}' is of another kind", name);
  }
  return found;
}

std::int64_t OnnxNode::integer(std::string_view name,
                               std::optional<std::int64_t> otherwise) const {
  const AttributeProto* found = find(name, AttributeProto::Kind::kInteger);
  if (found != nullptr) return found->integer;
  if (!otherwise) throw damaged("attribute '{}' is missing", name);
  return *otherwise;
}

double OnnxNode::real(std::string_view name,
                      std::optional<double> otherwise) const {
  const AttributeProto* found = find(name, AttributeProto::Kind::kReal);
  if (found != nullptr) return found->real;
  if (!otherwise) throw damaged("attribute '{}' is missing", name);
  return *otherwise;
}

double OnnxNode::number(std::string_view name, double otherwise) const {
  const AttributeProto* found = proto_.find(name);
  if (found != nullptr && found->kind == AttributeProto::Kind::kInteger) {
    return static_cast<double>(found->integer);
  }
  return real(name, otherwise);
}

std::string OnnxNode::text(std::string_view name,
                           std::optional<std::string> otherwise) const {
  const AttributeProto* found = find(name, AttributeProto::Kind::kText);
  if (found != nullptr && !is_utf8(found->text)) {
    throw damaged("attribute '{}' is no text", name);
  }
  if (found != nullptr) return std::string(found->text);
  if (!otherwise) throw damaged("attribute '{}' is missing", name);
  return *otherwise;
}

Integers OnnxNode::integers(std::string_view name, Integers otherwise) const {
  const AttributeProto* found = find(name, AttributeProto::Kind::kIntegers);
  if (found != nullptr) return found->integers;
  return otherwise;
}

std::vector<float> OnnxNode::reals(std::string_view name) const {
  const AttributeProto* found = find(name, AttributeProto::Kind::kReals);
  return found == nullptr ? std::vector<float>{} : found->reals;
}

std::vector<std::string> OnnxNode::texts(std::string_view name) const {
  const AttributeProto* found = find(name, AttributeProto::Kind::kTexts);
  if (found == nullptr) return {};
  if (!std::ranges::all_of(found->texts, is_utf8)) {
    throw damaged("attribute '{}' is no text", name);
  }
  return {found->texts.begin(), found->texts.end()};
}

Tensor OnnxNode::tensor(std::string_view name) const {
  const AttributeProto* found = find(name, AttributeProto::Kind::kTensor);
  if (found == nullptr) throw damaged("attribute '{}' is missing", name);
  return importer_.tensor_of(*found->tensor);
}

DType OnnxNode::dtype(std::string_view name, DType otherwise) const {
  const AttributeProto* found = find(name, AttributeProto::Kind::kInteger);
  if (found == nullptr) return otherwise;
  const ElementType type{found->integer};
  const std::optional<DType> dtype = dtype_of(type);
  if (!dtype) {
    throw unsupported("makes {}, which Weft has not", name_of(type));
  }
  return *dtype;
}

std::optional<Integers> OnnxNode::integers(std::string_view name,
                                           std::size_t operand) const {
  if (has(operand)) return known_integers(operand);
  if (has_attribute(name)) return integers(name);
  return std::nullopt;
}

int OnnxNode::axis(std::string_view name, std::int64_t otherwise,
                   int rank) const {
  return normalize_axis(integer(name, otherwise), rank, op());
}

void OnnxNode::set(std::size_t i, OnnxValue value) {
  if (i < results_.size()) results_[i] = std::move(value);
}

void OnnxNode::set_all(const std::vector<Value>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) set(i, values[i]);
}

const GraphProto& OnnxNode::graph(std::string_view name) const {
  const AttributeProto* found = find(name, AttributeProto::Kind::kGraph);
  if (found == nullptr) throw damaged("attribute '{}' is missing", name);
  return *found->graph;
}

std::vector<OnnxValue> OnnxNode::run(
    const GraphProto& graph, const std::vector<OnnxValue>& arguments) const {
  return importer_.run_graph(graph, names_, arguments);
}

Context& OnnxNode::graph_context() const { return importer_.context(); }

}  // namespace onnx
}  // namespace weft
