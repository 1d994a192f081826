#include "weft/onnx/importer.h"

#include <algorithm>
#include <functional>

#include "weft/graph/variable.h"

namespace weft::onnx {
namespace {

// A value depends on something that could not be imported, which has been
// written down.
struct FailedBefore {};

// Runs ops at once, unless what they make is much larger than what they are
// given: a few bytes of a model must not take all memory, nor make a file
// large.
class FoldingContext final : public Context {
 public:
  struct TooLarge {};

  std::vector<Value> apply(const OpDef& op,
                           std::span<const Value* const> inputs,
                           const Attributes& attributes,
                           const Location& location) override {
    std::vector<TensorType> types;
    std::size_t given = kAlwaysFolded / 2;
    for (const Value* input : inputs) {
      types.push_back(input->type());
      given = std::max(given, input->type().bytes());
    }
    for (const TensorType& type :
         op.infer_types(types, op.complete(attributes))) {
      if (type.bytes() > 2 * given) throw TooLarge();
    }
    return eager_context().apply(op, inputs, attributes, location);
  }

  void create(const VariableRef& variable) override {
    eager_context().create(variable);
  }
  Value read(const VariableRef& variable) override {
    return eager_context().read(variable);
  }
  void assign(const VariableRef& variable, const Value& value) override {
    eager_context().assign(variable, value);
  }

 private:
  static constexpr std::size_t kAlwaysFolded = std::size_t{32} << 20;
};

// Calls `use` with the names that a node reads, also in graphs within it.
void for_each_use(const NodeProto& node,
                  const std::function<void(std::string_view)>& use) {
  for (const std::string_view name : node.inputs) use(name);
  for (const AttributeProto& attribute : node.attributes) {
    if (!attribute.graph) continue;
    for (const NodeProto& inner : attribute.graph->nodes) {
      for_each_use(inner, use);
    }
    for (const ValueProto& output : attribute.graph->outputs) use(output.name);
  }
}

bool runs_graphs(const NodeProto& node) {
  return std::ranges::any_of(node.attributes, [](const AttributeProto& each) {
    return each.graph != nullptr;
  });
}

std::string name_of(const NodeProto& node) {
  if (!node.name.empty()) return std::string(node.name);
  // Names of nodes are optional, those of values are not.
  for (const std::string_view output : node.outputs) {
    if (!output.empty()) return fmt::format("the node of '{}'", output);
  }
  return "a node without a name";
}

// The node of a function's body, with the attributes that a call gives it.
NodeProto with_attributes(const NodeProto& node, const FunctionProto& function,
                          const NodeProto& call) {
  NodeProto result = node;
  result.attributes.clear();
  for (AttributeProto attribute : node.attributes) {
    if (attribute.graph) {
      auto graph = std::make_shared<GraphProto>(*attribute.graph);
      for (NodeProto& inner : graph->nodes) {
        inner = with_attributes(inner, function, call);
      }
      attribute.graph = std::move(graph);
    }
    if (attribute.reference.empty()) {
      result.attributes.push_back(std::move(attribute));
      continue;
    }
    const auto default_value = std::ranges::find(
        function.defaults, attribute.reference, &AttributeProto::name);
    const AttributeProto* given = call.find(attribute.reference);
    if (given == nullptr && default_value != function.defaults.end()) {
      given = &*default_value;
    }
    // An attribute that nobody gave is left out here as well.
    if (given == nullptr) continue;
    const std::string_view name = attribute.name;
    attribute = *given;
    attribute.name = name;
    result.attributes.push_back(std::move(attribute));
  }
  return result;
}

// Sets a variable for as long as it lives.
template <class T>
class Restored {
 public:
  Restored(T& variable, T value)
      : variable_(variable), before_(std::move(variable)) {
    variable_ = std::move(value);
  }
  ~Restored() { variable_ = std::move(before_); }
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;

 private:
  T& variable_;
  T before_;
};

std::map<std::string, std::int64_t, std::less<>> versions_of(
    const std::vector<OpsetProto>& opsets) {
  std::map<std::string, std::int64_t, std::less<>> versions;
  for (const OpsetProto& opset : opsets) {
    versions[std::string(opset.domain)] = opset.version;
  }
  return versions;
}

}  // namespace

Importer::Importer(const ModelProto& model, std::string_view where,
                   ExternalFiles& files)
    : model_(model),
      where_(where),
      files_(files),
      functions_(model),
      opsets_(versions_of(model.opsets)) {}

Tensor Importer::tensor_of(const TensorProto& proto) {
  Tensor tensor = to_tensor(proto, files_, where_);
  if (!proto.name.empty() && tensor.is_defined()) {
    tensor_names_.emplace(tensor.raw(), proto.name);
  }
  return tensor;
}

std::vector<OnnxValue> Importer::run(const std::vector<OnnxValue>& arguments) {
  std::vector<OnnxValue> results;
  try {
    results = run_graph(model_.graph, Names(), arguments);
  } catch (const FailedBefore&) {
    WEFT_CHECK(!failures_.empty());
  }
  if (failures_.empty()) return results;
  Error error(ErrorCode::kUnsupported, where_,
              "{} of the model's nodes cannot be imported", failures_.size());
  for (const Failure& each : failures_) {
    error.detail(fmt::format("{} ({}): {}", each.node, each.op, each.reason));
  }
  throw std::move(error).hint(
      "docs/onnx.md lists what is supported; inputs that shapes depend on can "
      "be fixed when the model is imported");
}

std::vector<OnnxValue> Importer::run_graph(
    const GraphProto& graph, const Names& around,
    const std::vector<OnnxValue>& arguments) {
  Names names;
  names.outer = &around;
  const auto is_initializer = [&](std::string_view name) {
    return std::ranges::find(graph.initializers, name, &TensorProto::name) !=
           graph.initializers.end();
  };
  std::size_t next = 0;
  for (const ValueProto& input : graph.inputs) {
    if (is_initializer(input.name)) continue;
    if (next == arguments.size()) {
      throw Error(ErrorCode::kDataLoss, where_,
                  "damaged ONNX model: graph '{}' takes more than {} inputs",
                  graph.name, arguments.size());
    }
    names.values[std::string(input.name)] = arguments[next++];
  }
  for (const std::string_view name : graph.sparse_initializers) {
    throw Error(ErrorCode::kUnsupported, where_,
                "initializer '{}' is a sparse tensor, which Weft has not",
                name);
  }
  for (const TensorProto& tensor : graph.initializers) {
    names.tensors[std::string(tensor.name)] = &tensor;
  }
  std::vector<std::string_view> wanted;
  for (const ValueProto& output : graph.outputs) wanted.push_back(output.name);
  return run_nodes(graph.nodes, names, wanted);
}

std::vector<OnnxValue> Importer::run_nodes(
    const std::vector<NodeProto>& nodes, Names& names,
    const std::vector<std::string_view>& wanted) {
  const Restored context(context_, &current_context());
  // A value is dropped behind the last node that reads it: the weights that a
  // node has transposed are not kept twice.
  std::map<std::string_view, std::size_t> last_use;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for_each_use(nodes[i], [&](std::string_view name) { last_use[name] = i; });
  }
  for (const std::string_view name : wanted) last_use[name] = nodes.size();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for_each_use(nodes[i], [&](std::string_view name) { load(name, names); });
    run_node(nodes[i], names);
    for_each_use(nodes[i], [&](std::string_view name) {
      if (last_use[name] != i) return;
      const auto found = names.values.find(name);
      if (found != names.values.end()) names.values.erase(found);
    });
  }
  std::vector<OnnxValue> results;
  for (const std::string_view name : wanted) {
    load(name, names);
    if (names.has_failed(name)) throw FailedBefore();
    const OnnxValue* found = names.find(name);
    if (found == nullptr) {
      throw Error(ErrorCode::kDataLoss, where_,
                  "damaged ONNX model: no node makes its output '{}'", name);
    }
    results.push_back(*found);
  }
  return results;
}

void Importer::load(std::string_view name, Names& names) {
  const auto found = names.tensors.find(name);
  if (found == names.tensors.end() || names.values.contains(name)) return;
  names.values.emplace(name, Value(tensor_of(*found->second)));
}

void Importer::fail(const NodeProto& node, Names& names, std::string reason) {
  for (const std::string_view output : node.outputs) {
    names.failed.emplace(output);
  }
  if (reason.empty()) return;
  const auto opset = opsets_.find(node.domain);
  failures_.push_back({name_of(node),
                       fmt::format("{}{}{}, opset {}", node.domain,
                                   node.domain.empty() ? "" : "::", node.op,
                                   opset == opsets_.end() ? 1 : opset->second),
                       std::move(reason)});
}

void Importer::run_node(const NodeProto& proto, Names& names) {
  std::vector<OnnxValue> operands;
  bool is_known = !runs_graphs(proto);
  for (const std::string_view name : proto.inputs) {
    operands.emplace_back();
    if (name.empty()) continue;
    if (names.has_failed(name)) return fail(proto, names, "");
    const OnnxValue* found = names.find(name);
    if (found == nullptr) {
      throw Error(ErrorCode::kDataLoss, where_,
                  "damaged ONNX model: {} reads '{}', which nothing before it "
                  "makes",
                  name_of(proto), name);
    }
    operands.back() = *found;
    is_known = is_known && (!found->is_defined() || found->is_known());
  }
  const auto opset = opsets_.find(proto.domain);
  const std::int64_t version = opset == opsets_.end() ? 1 : opset->second;
  OnnxNode node(*this, proto, names, version, std::move(operands));
  try {
    if (const FunctionProto* function = functions_.find(proto)) {
      call_function(*function, node, proto);
    } else if (const OnnxOpDef* def =
                   onnx_registry().find(proto.domain, proto.op, version)) {
      import_node(*def, node, is_known);
    } else {
      return fail(proto, names,
                  onnx_registry().knows(proto.domain, proto.op)
                      ? "other opsets of this op are read, but not this one"
                      : "there is no importer for this op");
    }
  } catch (const FailedBefore&) {
    return fail(proto, names, "");
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInternal ||
        error.code() == ErrorCode::kExhausted) {
      throw;
    }
    return fail(proto, names, error.message());
  }
  for (std::size_t i = 0; i < proto.outputs.size(); ++i) {
    if (proto.outputs[i].empty()) continue;
    if (!node.results()[i].is_defined()) {
      return fail(proto, names, fmt::format("result {} is not supported", i));
    }
    names.values.insert_or_assign(std::string(proto.outputs[i]),
                                  std::move(node.results()[i]));
  }
}

void Importer::import_node(const OnnxOpDef& def, OnnxNode& node,
                           bool is_known) {
  if (is_known && !def.is_random) {
    try {
      FoldingContext folding;
      const ContextScope scope(folding);
      return def.import(node);
    } catch (const FoldingContext::TooLarge&) {
      // Then it is made where it is needed.
    }
  }
  const ContextScope scope(*context_);
  def.import(node);
}

void Importer::call_function(const FunctionProto& function, OnnxNode& node,
                             const NodeProto& proto) {
  functions_.check(function);
  Names names;
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    // Operands that a call leaves out have no name within either.
    if (node.has(i)) {
      names.values[std::string(function.inputs[i])] = node.operand(i);
    } else {
      names.values[std::string(function.inputs[i])] = OnnxValue();
    }
  }
  std::vector<NodeProto> nodes;
  for (const NodeProto& each : function.nodes) {
    nodes.push_back(with_attributes(each, function, proto));
  }
  Opsets opsets = opsets_;
  for (const auto& [domain, version] : versions_of(function.opsets)) {
    opsets[domain] = version;
  }
  const Restored versions(opsets_, std::move(opsets));
  std::vector<std::string_view> wanted;
  for (std::size_t i = 0; i < function.outputs.size(); ++i) {
    if (node.wants(i)) wanted.push_back(function.outputs[i]);
  }
  auto results = run_nodes(nodes, names, wanted);
  for (std::size_t i = 0, next = 0; i < function.outputs.size(); ++i) {
    if (node.wants(i)) node.set(i, std::move(results[next++]));
  }
}

}  // namespace weft::onnx
