#include "weft/runtime/nested_calls.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "weft/graph/collectives.h"
#include "weft/graph/kernel.h"
#include "weft/graph/phases.h"
#include "weft/graph/text.h"
#include "weft/runtime/simplify.h"

namespace weft {
namespace {

using Tensors = std::vector<Tensor>;

Tensors in_part(const Tensors& tensors, std::size_t first, std::size_t count) {
  const auto begin = tensors.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

Phases one_phase(const Function& function) {
  return {{static_cast<std::int64_t>(function.parameters().size())},
          {static_cast<std::int64_t>(function.results().size())}};
}

// A function for arguments of certain types, each node with its kernel.
class Prepared {
 public:
  Prepared(const Function& general, const Phases& phases,
           std::vector<TensorType> arguments);

  bool fits(const Phases& phases, const Tensors& arguments) const {
    return phases_ == phases &&
           std::equal(arguments.begin(), arguments.end(), types_.begin(),
                      types_.end(), [](const Tensor& tensor, const auto& type) {
                        return tensor.type() == type;
                      });
  }
  const Function& function() const { return function_; }
  const Phases& phases() const { return phases_; }
  // What a phase has to run, in order.
  const std::vector<NodeId>& schedule(std::size_t phase) const {
    return schedule_[phase];
  }
  Tensors run_kernel(NodeId id, const Tensors& inputs);

 private:
  struct Step {
    std::unique_ptr<PreparedKernel> kernel;  // null for control flow
    std::vector<TensorType> outputs;
    Tensor scratch;
    bool meets_others = false;
  };

  void schedule_phases();

  std::vector<TensorType> types_;  // of the first phase's arguments
  Phases phases_;
  Function function_;
  std::vector<std::vector<NodeId>> schedule_;
  std::vector<Step> steps_;
};

Function specialized(const Function& general, const Phases& phases,
                     std::span<const TensorType> arguments) {
  FunctionRef first = reference_to(general);
  auto parameters = first.signature->parameters;
  parameters.resize(phases.first_argument(1));
  first.signature =
      std::make_shared<Signature>(Signature{std::move(parameters), {}});
  return simplify(specialize(general, bind_call(first, arguments)));
}

Prepared::Prepared(const Function& general, const Phases& phases,
                   std::vector<TensorType> arguments)
    : types_(std::move(arguments)),
      phases_(phases),
      function_(specialized(general, phases, types_)) {
  for (const Node& node : function_.nodes()) {
    Step step;
    step.outputs = function_.output_types(node);
    for (const TensorType& type : step.outputs) {
      if (type.shape.is_static()) continue;
      throw Error(ErrorCode::kUnsupported, "@" + function_.name(),
                  "the arguments do not tell the size of {}", to_string(type))
          .detail("in: " + to_string(function_, node));
    }
    if (!node.op->has(kControl)) {
      const auto inputs = function_.input_types(node);
      step.kernel =
          choose_kernel({*node.op, inputs, node.attributes, step.outputs})
              .kernel;
      step.scratch = Tensor::empty(
          {DType::kU8, {static_cast<Dim>(step.kernel->scratch_bytes())}});
      step.meets_others = meets_other_ranks(*node.op, node.attributes);
    }
    steps_.push_back(std::move(step));
  }
  schedule_phases();
}

void Prepared::schedule_phases() {
  const auto earliest = phases_.of_values(function_);
  std::vector<bool> is_done(function_.nodes().size(), false);
  for (std::size_t phase = 0; phase < phases_.count(); ++phase) {
    std::vector<bool> is_needed(function_.value_count(), false);
    const auto need = [&](ValueId id) {
      is_needed[static_cast<std::size_t>(id)] = true;
    };
    for (std::size_t i = phases_.first_result(phase);
         i < phases_.first_result(phase + 1); ++i) {
      need(function_.results()[i]);
    }
    std::vector<NodeId> needed;
    for (std::size_t n = function_.nodes().size(); n-- > 0;) {
      const Node& node = function_.nodes()[n];
      const bool is_live = std::any_of(
          node.outputs.begin(), node.outputs.end(),
          [&](auto id) { return is_needed[static_cast<std::size_t>(id)]; });
      if (!is_live || is_done[n]) continue;
      WEFT_CHECK(earliest[static_cast<std::size_t>(node.outputs[0])] <= phase,
                 "@{}: a phase needs what a later one is given",
                 function_.name());
      for (const ValueId id : node.inputs) need(id);
      is_done[n] = true;
      needed.push_back(static_cast<NodeId>(n));
    }
    schedule_.emplace_back(needed.rbegin(), needed.rend());
  }
}

Tensors Prepared::run_kernel(NodeId id, const Tensors& inputs) {
  const Node& node = function_.node(id);
  Step& step = steps_[static_cast<std::size_t>(id)];
  Tensors outputs;
  std::vector<void*> in;
  std::vector<void*> out;
  for (const Tensor& input : inputs) in.push_back(input.raw());
  for (const TensorType& type : step.outputs) {
    outputs.push_back(Tensor::empty(type));
    out.push_back(outputs.back().raw());
  }
  if (step.meets_others) require_collectives(*node.op, node.attributes);
  step.kernel->run({in.data(), out.data(), step.scratch.raw()});
  if (step.meets_others) current_collectives()->throw_failure();
  return outputs;
}

// A function that has been begun.
struct Activation {
  Prepared* prepared;
  Tensors values;                      // by ValueId
  std::size_t phase = 0;               // that runs next
  std::vector<std::int64_t> children;  // activations that it has entered
};

}  // namespace

struct NestedCalls::State {
  State(Graph g, NestedCallsOptions o) : graph(std::move(g)), options(o) {
    verify(graph);
    for (const Function& function : graph.functions) {
      functions.emplace(function.name(), &function);
    }
  }

  // The depth of calls while it lives.
  class Level {
   public:
    Level(State& state, const std::string& name) : state_(state) {
      state.chain.push_back(&name);
      if (state.chain.size() > state.options.max_depth) fail();
    }
    ~Level() { state_.chain.pop_back(); }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    [[noreturn]] void fail();
    State& state_;
  };

  Prepared& prepare(const std::string& name, const Phases* phases,
                    const Tensors& arguments);
  std::unique_ptr<Activation> begin(const std::string& name,
                                    const Phases* phases,
                                    const Tensors& arguments);
  // Runs the next phase, and returns its results.
  Tensors advance(Activation& activation, const Tensors& arguments);
  // Ends the activations that `parent` has entered.
  void release_children(Activation& parent);

  void run_node(Activation& activation, NodeId id);
  Tensors run_control(Activation& activation, const Node& node,
                      const Tensors& inputs);
  Tensors call(const std::string& name, const Tensors& arguments);
  Tensors run_while(const Attributes& attributes, Tensors values);
  Tensors run_scan(const Function& function, const Node& node,
                   const Tensors& values);
  Tensors enter(Activation& parent, const std::string& name,
                const Attributes& attributes, const Tensors& arguments);
  Tensors reenter(const Attributes& attributes, std::int64_t id,
                  const Tensors& arguments);

  Graph graph;
  NestedCallsOptions options;
  std::unordered_map<std::string, const Function*> functions;
  std::unordered_map<std::string, std::vector<std::unique_ptr<Prepared>>>
      prepared;
  // Of the run.
  std::vector<const std::string*> chain;
  std::map<std::string, std::int64_t, std::less<>> counts;
  std::unordered_map<std::int64_t, std::unique_ptr<Activation>> entered;
  std::int64_t next_activation = 0;
};

void NestedCalls::State::Level::fail() {
  constexpr std::size_t kShown = 8;
  Error error(ErrorCode::kExhausted, "@" + *state_.chain.back(),
              "calls nest deeper than {}", state_.options.max_depth);
  for (std::size_t i = 0; i < kShown && i < state_.chain.size(); ++i) {
    error.detail("called by @" + *state_.chain[state_.chain.size() - 1 - i]);
  }
  error.detail("begun with @" + *state_.chain.front());
  state_.chain.pop_back();
  throw error.hint("does every recursion reach a case without a call?");
}

Prepared& NestedCalls::State::prepare(const std::string& name,
                                      const Phases* phases,
                                      const Tensors& arguments) {
  const Function& function = *functions.at(name);
  const Phases wanted = phases != nullptr ? *phases : one_phase(function);
  auto& known = prepared[name];
  for (const auto& candidate : known) {
    if (candidate->fits(wanted, arguments)) return *candidate;
  }
  std::vector<TensorType> types;
  for (const Tensor& argument : arguments) types.push_back(argument.type());
  known.push_back(
      std::make_unique<Prepared>(function, wanted, std::move(types)));
  return *known.back();
}

std::unique_ptr<Activation> NestedCalls::State::begin(
    const std::string& name, const Phases* phases, const Tensors& arguments) {
  Prepared& function = prepare(name, phases, arguments);
  ++counts[name];
  return std::make_unique<Activation>(
      Activation{&function, Tensors(function.function().value_count()), 0, {}});
}

Tensors NestedCalls::State::advance(Activation& activation,
                                    const Tensors& arguments) {
  const Function& function = activation.prepared->function();
  const Phases& phases = activation.prepared->phases();
  const Level level(*this, function.name());
  const std::size_t phase = activation.phase++;
  const std::size_t first = phases.first_argument(phase);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const ValueId id = function.parameters()[first + i];
    activation.values[static_cast<std::size_t>(id)] = arguments[i];
  }
  for (const NodeId id : activation.prepared->schedule(phase)) {
    run_node(activation, id);
  }
  Tensors results;
  for (std::size_t i = phases.first_result(phase);
       i < phases.first_result(phase + 1); ++i) {
    const ValueId id = function.results()[i];
    results.push_back(activation.values[static_cast<std::size_t>(id)]);
  }
  return results;
}

void NestedCalls::State::release_children(Activation& parent) {
  for (const std::int64_t id : parent.children) {
    const auto child = entered.find(id);
    if (child == entered.end()) continue;
    const auto ended = std::move(child->second);
    entered.erase(child);
    release_children(*ended);
  }
}

void NestedCalls::State::run_node(Activation& activation, NodeId id) {
  const Node& node = activation.prepared->function().node(id);
  Tensors inputs;
  for (const ValueId input : node.inputs) {
    inputs.push_back(activation.values[static_cast<std::size_t>(input)]);
  }
  const Tensors outputs = node.op->has(kControl)
                              ? run_control(activation, node, inputs)
                              : activation.prepared->run_kernel(id, inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    activation.values[static_cast<std::size_t>(node.outputs[i])] = outputs[i];
  }
}

Tensors NestedCalls::State::run_control(Activation& activation,
                                        const Node& node,
                                        const Tensors& inputs) {
  const std::string& op = node.op->name();
  const Attributes& attributes = node.attributes;
  const auto rest = [&](std::size_t first) {
    return in_part(inputs, first, inputs.size() - first);
  };
  const auto branch = [&]() -> const std::string& {
    const bool holds = inputs[0].item() != 0;
    return attributes.function(holds ? "then" : "otherwise").name;
  };
  if (op == "call") return call(attributes.function("function").name, inputs);
  if (op == "cond") return call(branch(), rest(1));
  if (op == "while") return run_while(attributes, inputs);
  if (op == "scan") {
    return run_scan(activation.prepared->function(), node, inputs);
  }
  if (op == "call_enter") {
    const std::string& name = attributes.function("function").name;
    return enter(activation, name, attributes, inputs);
  }
  if (op == "cond_enter") {
    return enter(activation, branch(), attributes, rest(1));
  }
  const auto id = inputs[0].data<std::int64_t>()[0];
  if (op == "call_reenter") return reenter(attributes, id, rest(1));
  if (op == "cond_reenter") return reenter(attributes, id, rest(2));
  throw Error(ErrorCode::kUnsupported, op, "nested calls cannot run this op");
}

Tensors NestedCalls::State::call(const std::string& name,
                                 const Tensors& arguments) {
  const auto activation = begin(name, nullptr, arguments);
  Tensors results = advance(*activation, arguments);
  release_children(*activation);
  return results;
}

Tensors NestedCalls::State::run_while(const Attributes& attributes,
                                      Tensors values) {
  const std::string& condition = attributes.function("condition").name;
  const std::string& body = attributes.function("body").name;
  while (call(condition, values)[0].item() != 0) {
    Tensors next = call(body, values);
    std::move(next.begin(), next.end(), values.begin());
  }
  values.resize(static_cast<std::size_t>(attributes.integer("carried")));
  return values;
}

Tensors NestedCalls::State::run_scan(const Function& function, const Node& node,
                                     const Tensors& values) {
  const auto carried =
      static_cast<std::size_t>(node.attributes.integer("carried"));
  const auto scanned =
      static_cast<std::size_t>(node.attributes.integer("scanned"));
  Tensors results = in_part(values, 0, carried);
  for (std::size_t i = carried; i < node.outputs.size(); ++i) {
    results.push_back(Tensor::empty(function.type(node.outputs[i])));
  }
  const Dim steps = values[carried].shape()[0];
  for (Dim step = 0; step < steps; ++step) {
    const Dim at = node.attributes.flag("reverse") ? steps - 1 - step : step;
    Tensors arguments = values;
    std::copy_n(results.begin(), carried, arguments.begin());
    for (std::size_t i = carried; i < carried + scanned; ++i) {
      const Shape& shape = values[i].shape();
      arguments[i] = values[i]
                         .slice(at, at + 1)
                         .reshape(Shape(shape.last(shape.rank() - 1)));
    }
    const Tensors made = call(node.attributes.function("body").name, arguments);
    std::copy_n(made.begin(), carried, results.begin());
    for (std::size_t i = carried; i < made.size(); ++i) {
      const Tensor row = results[i].slice(at, at + 1).reshape(made[i].shape());
      row.copy_from(made[i]);
    }
  }
  return results;
}

Tensors NestedCalls::State::enter(Activation& parent, const std::string& name,
                                  const Attributes& attributes,
                                  const Tensors& arguments) {
  const Phases phases = Phases::of(attributes);
  auto activation = begin(name, &phases, arguments);
  Tensors results = advance(*activation, arguments);
  const std::int64_t id = next_activation++;
  parent.children.push_back(id);
  entered.emplace(id, std::move(activation));
  results.push_back(Tensor::scalar(id));
  return results;
}

Tensors NestedCalls::State::reenter(const Attributes& attributes,
                                    std::int64_t id, const Tensors& arguments) {
  const Phases phases = Phases::of(attributes);
  const auto phase = static_cast<std::size_t>(attributes.integer("phase"));
  const auto found = entered.find(id);
  if (found == entered.end() || found->second->phase != phase) {
    throw Error(ErrorCode::kInvalidArgument, "nested calls",
                "an activation was entered for phase {}, which is not its next",
                phase);
  }
  Activation& activation = *found->second;
  const std::size_t earlier = phases.first_argument(phase);
  Tensors results = advance(
      activation, in_part(arguments, earlier, arguments.size() - earlier));
  if (phase + 1 < phases.count()) {
    results.push_back(Tensor::scalar(id));
  } else {
    release_children(activation);
    entered.erase(id);
  }
  return results;
}

NestedCalls::NestedCalls(Graph graph, NestedCallsOptions options)
    : state_(std::make_unique<State>(std::move(graph), options)) {}
NestedCalls::~NestedCalls() = default;
NestedCalls::NestedCalls(NestedCalls&&) noexcept = default;

Tensors NestedCalls::run(std::string_view function,
                         std::span<const Tensor> arguments) {
  State& state = *state_;
  const std::string name(function);
  if (!state.functions.contains(name)) {
    throw Error(ErrorCode::kInvalidArgument, "nested calls",
                "there is no function @{}", name);
  }
  state.chain.clear();
  state.counts.clear();
  state.entered.clear();
  Tensors results = state.call(name, {arguments.begin(), arguments.end()});
  WEFT_CHECK(state.entered.empty(), "an activation outlived its run");
  return results;
}

std::int64_t NestedCalls::activations(std::string_view function) const {
  const auto found = state_->counts.find(function);
  return found == state_->counts.end() ? 0 : found->second;
}

}  // namespace weft
