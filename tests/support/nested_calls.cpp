#include "tests/support/nested_calls.h"

#include <map>
#include <unordered_map>

#include "tests/support/prepared_function.h"

namespace weft::test {
namespace {

using Tensors = std::vector<Tensor>;

Tensors in_part(const Tensors& tensors, std::size_t first, std::size_t count) {
  const auto begin = tensors.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

// A function that has been begun.
struct Activation {
  PreparedFunction* prepared;
  Tensors values;                      // by ValueId
  std::size_t phase = 0;               // that runs next
  std::vector<std::int64_t> children;  // activations that it has entered
};

}  // namespace

struct NestedCalls::State {
  State(Graph g, NestedCallsOptions o) : graph(std::move(g)), options(o) {
    verify(graph);
    for (const Function& function : graph.functions) {
      functions[function.name()] = {
          &function, Phases::whole(*reference_to(function).signature), {}};
    }
  }

  struct Known {
    const Function* function;
    Phases whole;
    std::vector<std::unique_ptr<PreparedFunction>> prepared;
  };

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

  PreparedFunction& prepare(const std::string& name, const Phases* phases,
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
  std::unordered_map<std::string, Known> functions;
  // The calls that are open in this run, outermost first, and how many of each.
  std::vector<const std::string*> chain;
  std::map<std::string, std::int64_t, std::less<>> counts;
  // An activation that may be entered again outlives the call that began it: it
  // stands here by its number, and its caller's Activation lists it.
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

PreparedFunction& NestedCalls::State::prepare(const std::string& name,
                                              const Phases* phases,
                                              const Tensors& arguments) {
  Known& known = functions.at(name);
  const Phases& wanted = phases != nullptr ? *phases : known.whole;
  // A function is called with few combinations of types.
  for (const auto& candidate : known.prepared) {
    if (candidate->fits(wanted, arguments)) return *candidate;
  }
  return *known.prepared.emplace_back(
      std::make_unique<PreparedFunction>(*known.function, wanted, arguments));
}

std::unique_ptr<Activation> NestedCalls::State::begin(
    const std::string& name, const Phases* phases, const Tensors& arguments) {
  PreparedFunction& function = prepare(name, phases, arguments);
  ++counts[name];
  return std::make_unique<Activation>(
      Activation{&function, Tensors(function.function().value_count()), 0, {}});
}

Tensors NestedCalls::State::advance(Activation& activation,
                                    const Tensors& arguments) {
  const Function& function = activation.prepared->function();
  const Phases& phases = activation.prepared->phases();
  // Each level is a frame of this function on the thread's stack, which ends
  // without a word if it is too deep: hence the limit.
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
    // It leaves the table first, since its own children are looked up there.
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
  // The body returns what is carried; captured values stand behind it and do
  // not change.
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
    // Rows are written where they belong, as all of them are known to come.
    results.push_back(Tensor::empty(function.type(node.outputs[i])));
  }
  const Dim steps = values[carried].shape()[0];
  for (Dim step = 0; step < steps; ++step) {
    const Dim at = node.attributes.flag("reverse") ? steps - 1 - step : step;
    // Captured operands stand behind the scanned ones and are passed on
    // unchanged.
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
  // The number comes from the graph, which may be wrong; it must not reach into
  // another activation.
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
  // Every activation ends with its caller at the latest.
  WEFT_CHECK(state.entered.empty(), "an activation outlived its run");
  return results;
}

std::int64_t NestedCalls::activations(std::string_view function) const {
  const auto found = state_->counts.find(function);
  return found == state_->counts.end() ? 0 : found->second;
}

}  // namespace weft::test
