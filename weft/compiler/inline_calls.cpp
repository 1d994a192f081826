#include "weft/compiler/inline_calls.h"

#include <algorithm>
#include <map>
#include <set>

#include "weft/graph/inlining.h"
#include "weft/graph/known_ops.h"
#include "weft/graph/phases.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

template <class Visit>
void for_each_callee(const Function& function, Visit&& visit) {
  for (const Node& node : function.nodes()) {
    for (const auto& [name, attribute] : node.attributes) {
      if (const auto* callee = std::get_if<FunctionRef>(&attribute)) {
        visit(callee->name);
      }
    }
  }
}

// The functions that `from` calls, directly or not.
std::set<std::string> reachable(const Graph& graph, const Function& from) {
  std::set<std::string> reached;
  std::vector<const Function*> open{&from};
  while (!open.empty()) {
    const Function& function = *open.back();
    open.pop_back();
    for_each_callee(function, [&](const std::string& name) {
      if (!reached.insert(name).second) return;
      open.push_back(graph.find(name));
      WEFT_CHECK(open.back() != nullptr, "@{} is not in the graph", name);
    });
  }
  return reached;
}

// Functions that call each other twice, in a long row, would fill any memory.
constexpr std::size_t kMostNodes = std::size_t{1} << 20;

// Copies a function, and in the place of a call what the callee does.
class Inliner : public FunctionBuilder {
 public:
  Inliner(const Graph& graph, std::string name)
      // Nodes are copied as they are: what was recorded whole stays whole.
      : FunctionBuilder(std::move(name), /*lower_composites=*/false),
        graph_(graph) {}

  Function copy(const Function& function) {
    return build([&] { return rebuild(*this, function); });
  }

  std::vector<Value> apply(const OpDef& op,
                           std::span<const Value* const> inputs,
                           const Attributes& attributes,
                           const Location& location) override {
    if (++visited_ > kMostNodes) {
      throw Error(ErrorCode::kExhausted, "@" + function().name(),
                  "has more than {} nodes when its calls are expanded",
                  kMostNodes);
    }
    const bool is_call = op == known::call || op == known::call_enter ||
                         op == known::call_reenter;
    // What leads back to itself would be expanded without end; it stays a call.
    if (!is_call || leads_back(attributes.function("function").name)) {
      return FunctionBuilder::apply(op, inputs, attributes, location);
    }
    std::vector<Value> arguments;
    for (const Value* input : inputs) arguments.push_back(*input);
    if (op == known::call_reenter) return reenter(attributes, arguments);
    // Shapes are settled call by call, as two calls of a function may differ in
    // them.
    const Function body = bound(attributes.function("function"), arguments);
    if (op == known::call) return inlined_results(*this, body, arguments);
    Activation activation{body, Phases::of(attributes), {}};
    return run_phase(std::move(activation), 0, arguments);
  }

 private:
  // A callee in phases (graph/phases.h): what has been computed of it so far.
  struct Activation {
    Function body;
    Phases phases;
    std::vector<Value> values;  // by ValueId
  };

  bool leads_back(const std::string& name) const {
    return reachable(graph_, *graph_.find(name)).contains(name);
  }

  // The callee with its symbols bound, as far as the arguments tell.
  Function bound(const FunctionRef& callee,
                 std::span<const Value> arguments) const {
    Bindings bindings;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      // The types were checked when the call was built; a dim that stays open
      // stays a symbol of the body.
      match(callee.signature->parameters[i].shape, arguments[i].shape(),
            bindings);
    }
    return specialize(*graph_.find(callee.name), bindings);
  }

  // The first operand is the activation, the last ones are this phase's.
  std::vector<Value> reenter(const Attributes& attributes,
                             const std::vector<Value>& operands) {
    const auto found = activations_.find(operands[0].id());
    WEFT_CHECK(found != activations_.end(), "an activation is entered twice");
    // A phase is entered once, so nobody else asks for the activation under
    // this value.
    Activation activation = std::move(found->second);
    activations_.erase(found);
    const auto phase = static_cast<std::size_t>(attributes.integer("phase"));
    const auto own = activation.phases.first_argument(phase);
    return run_phase(std::move(activation), phase,
                     std::span(operands).subspan(1 + own));
  }

  // Adds the nodes that depend on this phase's arguments, and no later one's.
  std::vector<Value> run_phase(Activation activation, std::size_t phase,
                               std::span<const Value> arguments) {
    const Function& body = activation.body;
    const Phases& phases = activation.phases;
    auto& values = activation.values;
    values.resize(body.value_count());
    const auto at = [&](ValueId id) -> Value& {
      return values[static_cast<std::size_t>(id)];
    };
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      at(body.parameters()[phases.first_argument(phase) + i]) = arguments[i];
    }
    const auto phase_of = phases.of_values(body);
    for (const Node& node : body.nodes()) {
      if (phase_of[static_cast<std::size_t>(node.outputs.front())] != phase) {
        continue;
      }
      std::vector<const Value*> inputs;
      for (const ValueId id : node.inputs) inputs.push_back(&at(id));
      // Calls within the callee are expanded in turn.
      auto outputs = apply(*node.op, inputs, node.attributes, node.location);
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        at(node.outputs[i]) = std::move(outputs[i]);
      }
    }
    std::vector<Value> results;
    for (std::size_t i = phases.first_result(phase);
         i < phases.first_result(phase + 1); ++i) {
      results.push_back(at(body.results()[i]));
    }
    if (phase + 1 < phases.count()) {
      // Stands for the activation until it is entered again.
      results.push_back(constant(Tensor::scalar(std::int64_t{0})));
      activations_.emplace(results.back().id(), std::move(activation));
    }
    return results;
  }

  const Graph& graph_;
  std::map<std::int64_t, Activation> activations_;  // by their value
  std::size_t visited_ = 0;
};

}  // namespace

bool has_control(const Function& function) {
  return std::any_of(function.nodes().begin(), function.nodes().end(),
                     [](const Node& node) { return node.op->has(kControl); });
}

Graph inline_calls(const Graph& graph, std::string_view entry) {
  const Function* first = graph.find(entry);
  WEFT_CHECK(first != nullptr, "@{} is not in the graph", entry);
  Graph result;
  result.functions.push_back(Inliner(graph, first->name()).copy(*first));
  // Only what is still called is kept.
  for (const std::string& name : reachable(graph, result.functions[0])) {
    if (name == entry) continue;
    // These recurse, and what they call beside that is expanded in them as
    // well.
    result.functions.push_back(Inliner(graph, name).copy(*graph.find(name)));
  }
  return result;
}

}  // namespace weft
