#include "weft/graph/op.h"

#include <algorithm>

#include "weft/tensor/symbol.h"

namespace weft {
namespace {

std::string_view trim(std::string_view text) {
  const auto begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

std::vector<std::string> split_names(std::string_view list) {
  std::vector<std::string> names;
  while (!trim(list).empty()) {
    const auto comma = std::min(list.find(','), list.size());
    names.emplace_back(trim(list.substr(0, comma)));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return names;
}

}  // namespace

Error OpCall::describe(fmt::string_view format, fmt::format_args args) const {
  Error error(ErrorCode::kInvalidArgument, op.name(),
              fmt::vformat(format, args));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    error.detail(
        fmt::format("input {}: {}", op.input_name(i), to_string(inputs[i])));
  }
  if (!attributes.empty()) {
    error.detail("attributes:" + to_string(attributes));
  }
  return error;
}

Cost Cost::elementwise(const OpCall& call, double flops_per_element) {
  double elements = 0;
  for (const auto& type : call.outputs) {
    elements += static_cast<double>(type.shape.num_elements());
  }
  return of(call, flops_per_element * elements);
}

Cost Cost::of(const OpCall& call, double flops) {
  Cost cost{flops, 0};
  // Each operand is counted as read once and each result as written once: what
  // a kernel moves at least, if its caches are large enough.
  for (const auto& type : call.inputs) {
    cost.bytes += static_cast<double>(type.bytes());
  }
  for (const auto& type : call.outputs) {
    cost.bytes += static_cast<double>(type.bytes());
  }
  return cost;
}

OpDef::OpDef(std::string name) : name_(std::move(name)) {}
OpDef::OpDef(OpDef&& other) noexcept = default;
OpDef::~OpDef() = default;

OpDef& OpDef::summary(std::string text) {
  summary_ = std::move(text);
  return *this;
}

// The signature is kept as text, since an error shows it to the user as it is
// written: "(x, w, bias?) -> (y)". "?" marks an operand that may be left out,
// "..." one that may be repeated; "...?" may also be missing.
OpDef& OpDef::signature(std::string_view text) {
  signature_ = text;
  const auto close = text.find(')');
  const auto arrow = text.find("->");
  // A signature is a literal of an op's registration, so a mistake in it is a
  // defect of Weft.
  WEFT_CHECK(text.front() == '(' && close != text.npos && arrow > close,
             "{}: signature '{}'", name_, text);
  outputs_ = split_names(text.substr(arrow + 2));
  for (auto& name : split_names(text.substr(1, close - 1))) {
    if (name.ends_with("...?")) {
      is_variadic_ = true;
      name.resize(name.size() - 4);
    } else if (name.ends_with("...")) {
      is_variadic_ = true;
      ++min_inputs_;
      name.resize(name.size() - 3);
    } else if (name.ends_with('?')) {
      name.pop_back();
    } else {
      ++min_inputs_;
    }
    inputs_.push_back(std::move(name));
  }
  return *this;
}

OpDef& OpDef::attribute(std::string name, Attribute default_value) {
  attributes_.push_back({std::move(name), std::move(default_value), false});
  return *this;
}

OpDef& OpDef::required(std::string name, Attribute kind) {
  // The value is there for its kind alone.
  attributes_.push_back({std::move(name), std::move(kind), true});
  return *this;
}

OpDef& OpDef::traits(unsigned bits) {
  traits_ |= bits;
  return *this;
}

OpDef& OpDef::infer(InferFunction function) {
  infer_ = function;
  return *this;
}

OpDef& OpDef::reference(ReferenceFunction function) {
  reference_ = function;
  return *this;
}

OpDef& OpDef::gradient(GradientFunction function) {
  gradient_ = function;
  return *this;
}

OpDef& OpDef::batch(BatchFunction function, BatchFunction sum) {
  batch_ = function;
  batch_sum_ = sum;
  return *this;
}

OpDef& OpDef::lower(LowerFunction function) {
  lower_ = function;
  return *this;
}

OpDef& OpDef::onnx(OnnxFunction function) {
  onnx_ = function;
  return *this;
}

OpDef& OpDef::cost(CostFunction function) {
  cost_ = function;
  return *this;
}

OpDef& OpDef::samples(SamplesFunction function) {
  samples_ = function;
  return *this;
}

// Operands beyond the last name are those of a variadic one, numbered from
// where it stands in the whole list, as the caller counts them.
std::string OpDef::input_name(std::size_t index) const {
  if (index < inputs_.size()) return inputs_[index];
  return inputs_.empty() ? "?" : fmt::format("{}[{}]", inputs_.back(), index);
}

// Attributes are kept complete, defaults included: equal calls then have equal
// attributes, and the text of a graph keeps its meaning if a default changes.
Attributes OpDef::complete(const Attributes& given) const {
  Attributes complete;
  for (const auto& schema : attributes_) {
    const Attribute* value = given.find(schema.name);
    if (value == nullptr && schema.is_required) {
      throw Error(ErrorCode::kInvalidArgument, name_,
                  "the attribute '{}' is missing", schema.name);
    }
    if (value != nullptr && value->index() != schema.value.index()) {
      throw Error(ErrorCode::kInvalidArgument, name_,
                  "the attribute '{}' takes {}, not {}", schema.name,
                  kind_of(schema.value), to_string(*value));
    }
    // The order is that of the schema, whatever order was given.
    complete.set(schema.name, value != nullptr ? *value : schema.value);
  }
  // What the schema has not taken is unknown.
  for (const auto& [name, value] : given) {
    if (complete.find(name) != nullptr) continue;
    std::vector<std::string> known;
    for (const auto& schema : attributes_) known.push_back(schema.name);
    Error error(ErrorCode::kInvalidArgument, name_, "no attribute '{}'", name);
    const std::string near = nearest(name, known);
    if (!near.empty()) error.hint("did you mean '" + near + "'?");
    throw error;
  }
  return complete;
}

std::vector<TensorType> OpDef::infer_types(std::span<const TensorType> inputs,
                                           const Attributes& attributes) const {
  const OpCall call{*this, inputs, attributes};
  if (inputs.size() < min_inputs_ ||
      (!is_variadic_ && inputs.size() > inputs_.size())) {
    throw call.error("takes {} operands, got {}", signature_, inputs.size());
  }
  std::vector<TensorType> types = infer_(call);
  // What no memory could hold is refused here once, so that kernels may
  // multiply sizes without looking for overflow.
  for (const TensorType& type : types) {
    if (is_addressable(type)) continue;
    throw call.error("the result {} is larger than any memory",
                     to_string(type));
  }
  return types;
}

}  // namespace weft
