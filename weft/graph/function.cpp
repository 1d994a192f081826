#include "weft/graph/function.h"

#include <algorithm>
#include <set>

#include "weft/graph/function_copy.h"
#include "weft/graph/known_sizes.h"
#include "weft/graph/text.h"
#include "weft/tensor/symbol.h"

namespace weft {

Function::Function(std::string name) : name_(std::move(name)) {}
Function::Function(const Function& other) = default;
Function::Function(Function&& other) noexcept = default;
Function& Function::operator=(const Function& other) = default;
Function& Function::operator=(Function&& other) noexcept = default;
Function::~Function() = default;

ValueId Function::add_parameter(const TensorType& type, std::string name) {
  if (!is_addressable(type)) {
    throw Error(ErrorCode::kInvalidArgument, "graph",
                "the parameter {} of @{} is larger than any memory",
                to_string(type), name_);
  }
  const auto id = static_cast<ValueId>(values_.size());
  // Parameters share their numbers with all other values, so they may also come
  // when there are nodes already.
  values_.push_back({type, -1, std::move(name)});
  parameters_.push_back(id);
  return id;
}

const Node& Function::add_node(const OpDef& op, std::vector<ValueId> inputs,
                               const Attributes& attributes,
                               const Location& location) {
  Node node{&op, {}, std::move(inputs), {}, location};
  std::vector<TensorType> types;
  try {
    node.attributes = op.complete(attributes);
    types = op.infer_types(input_types(node), node.attributes);
  } catch (Error& error) {
    // The stack of the exception ends in this library; the line that a user can
    // mend is the one that asked for the op.
    if (location.is_known()) {
      error.detail("built at: " + to_string(location));
    }
    throw;
  }
  for (const TensorType& type : types) {
    node.outputs.push_back(static_cast<ValueId>(values_.size()));
    values_.push_back({type, static_cast<NodeId>(nodes_.size()), {}});
  }
  return nodes_.emplace_back(std::move(node));
}

const Node& Function::replace_node(NodeId id, const OpDef& op,
                                   const Attributes& attributes) {
  Node& node = nodes_[static_cast<std::size_t>(id)];
  const Attributes complete = op.complete(attributes);
  const auto types = op.infer_types(input_types(node), complete);
  const auto old = output_types(node);
  // Readers of the node hold its results by their ids, so these must keep their
  // types; results that the new op has beyond them come last.
  WEFT_CHECK(types.size() >= old.size() &&
                 std::equal(old.begin(), old.end(), types.begin()),
             "{} cannot stand for {}", op.name(), node.op->name());
  node.op = &op;
  node.attributes = complete;
  for (std::size_t i = old.size(); i < types.size(); ++i) {
    node.outputs.push_back(static_cast<ValueId>(values_.size()));
    values_.push_back({types[i], id, {}});
  }
  return node;
}

void Function::set_results(std::vector<ValueId> results) {
  results_ = std::move(results);
}

bool Function::equals(const Function& other) const {
  const auto are_equal = [](const Node& a, const Node& b) {
    return a.op == b.op && a.inputs == b.inputs && a.outputs == b.outputs &&
           a.attributes == b.attributes;
  };
  return name_ == other.name_ && parameters_ == other.parameters_ &&
         results_ == other.results_ && values_ == other.values_ &&
         std::equal(nodes_.begin(), nodes_.end(), other.nodes_.begin(),
                    other.nodes_.end(), are_equal);
}

std::vector<TensorType> Function::input_types(const Node& node) const {
  std::vector<TensorType> types;
  types.reserve(node.inputs.size());
  for (const ValueId id : node.inputs) types.push_back(type(id));
  return types;
}

std::vector<TensorType> Function::output_types(const Node& node) const {
  std::vector<TensorType> types;
  types.reserve(node.outputs.size());
  for (const ValueId id : node.outputs) types.push_back(type(id));
  return types;
}

const Function* Graph::find(std::string_view name) const {
  for (const Function& function : functions) {
    if (function.name() == name) return &function;
  }
  return nullptr;
}

FunctionRef reference_to(const Function& function) {
  Signature signature;
  for (const ValueId id : function.parameters()) {
    signature.parameters.push_back(function.type(id));
  }
  for (const ValueId id : function.results()) {
    signature.results.push_back(function.type(id));
  }
  return {function.name(), std::make_shared<Signature>(std::move(signature))};
}

FunctionIndex::FunctionIndex(const Graph& graph) {
  for (const Function& function : graph.functions) {
    functions_.emplace(function.name(), reference_to(function));
  }
}

std::optional<std::string> FunctionIndex::problem_with(
    const FunctionRef& reference) const {
  const auto found = functions_.find(reference.name);
  if (found == functions_.end()) {
    return fmt::format("there is no function @{}", reference.name);
  }
  // A call was typed by the signature that it carries, so the same name is not
  // enough.
  if (found->second == reference) return std::nullopt;
  return fmt::format("the signature of {} is another: {}", to_string(reference),
                     to_string(found->second));
}

namespace {

[[noreturn]] void fail(const Function& function, const std::string& message) {
  throw Error(ErrorCode::kInternal, "verify", "@{}: {}", function.name(),
              message);
}

void verify_node(const Function& function, std::size_t index,
                 const Bindings& sizes) {
  const Node& node = function.nodes()[index];
  // The text of a node may be large, as that of a constant is, and every
  // function that is built is verified: it is made for a mistake alone.
  const auto refuse = [&](std::string_view problem) {
    fail(function, fmt::format("{}: {}", problem, to_string(function, node)));
  };
  for (const ValueId input : node.inputs) {
    if (input < 0 || static_cast<std::size_t>(input) >= function.value_count())
      refuse("an operand does not exist in");
    const NodeId producer = function.value(input).node;
    // Nodes stand in an order in which they can run, which every pass relies
    // on.
    if (producer >= 0 && static_cast<std::size_t>(producer) >= index)
      refuse("an operand is used before it is computed in");
  }
  // Completing what is complete changes nothing.
  if (!(node.op->complete(node.attributes) == node.attributes))
    refuse("attributes are incomplete in");
  const auto expected =
      node.op->infer_types(function.input_types(node), node.attributes);
  if (expected != function.output_types(node))
    refuse("types differ from what inference says in");
  for (const ValueId output : node.outputs) {
    if (function.value(output).node != static_cast<NodeId>(index))
      refuse("a result belongs to another node");
  }
  if (!has_known_sizes(function, node, sizes))
    refuse("no parameter tells a size in");
}

}  // namespace

void verify(const Function& function) {
  // Files and recipes give arguments by the names of parameters; the empty name
  // is that of a parameter which is only ever given by its position.
  std::set<std::string> names;
  for (const ValueId id : function.parameters()) {
    const std::string& name = function.value(id).name;
    if (!name.empty() && !names.insert(name).second)
      fail(function, "two parameters are called '" + name + "'");
  }
  const Bindings sizes = symbols_of_parameters(function);
  for (std::size_t i = 0; i < function.nodes().size(); ++i) {
    verify_node(function, i, sizes);
  }
  for (const ValueId id : function.results()) {
    if (id < 0 || static_cast<std::size_t>(id) >= function.value_count())
      fail(function, "a result does not exist");
  }
}

void verify(const Graph& graph) {
  std::set<std::string> names;
  for (const Function& function : graph.functions) {
    if (!names.insert(function.name()).second)
      fail(function, "two functions have this name");
    verify(function);
  }
  // A call carries the signature that it expects, so that types are known
  // before the callee has a body. Here, with all bodies at hand, the two are
  // compared.
  const FunctionIndex index(graph);
  for (const Function& function : graph.functions) {
    for (const Node& node : function.nodes()) {
      for (const auto& [name, attribute] : node.attributes) {
        const auto* reference = std::get_if<FunctionRef>(&attribute);
        if (reference == nullptr) continue;
        const auto problem = index.problem_with(*reference);
        if (problem) {
          fail(function, *problem + ", in: " + to_string(function, node));
        }
      }
    }
  }
}

namespace {

// Only shapes hold dims, and so symbols.
Attributes substitute(const Attributes& attributes, const Bindings& bindings) {
  Attributes result = attributes;
  for (auto& [name, value] : result) {
    if (auto* shape = std::get_if<Shape>(&value)) {
      *shape = substitute(*shape, bindings);
    }
  }
  return result;
}

}  // namespace

Function specialize(const Function& function, const Bindings& bindings) {
  // The copy infers all types again from the parameters' new ones.
  FunctionCopy copy(function, function.name());
  for (const ValueId id : function.parameters()) {
    const ValueInfo& value = function.value(id);
    copy[id] = copy.function().add_parameter(
        {value.type.dtype, substitute(value.type.shape, bindings)}, value.name);
  }
  for (const Node& node : function.nodes()) {
    copy.add_node(node, substitute(node.attributes, bindings));
  }
  return copy.finish();
}

}  // namespace weft
