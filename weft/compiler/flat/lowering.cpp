#include "weft/compiler/flat/lowering.h"

#include <array>
#include <map>
#include <numeric>

#include "weft/compiler/dead_nodes.h"
#include "weft/compiler/flat/draft.h"
#include "weft/compiler/flat/needed_phases.h"
#include "weft/graph/known_ops.h"
#include "weft/graph/phases.h"
#include "weft/graph/signature.h"
#include "weft/ops/support/recursion.h"

namespace weft {
namespace {

// A recursion whose shapes grow at every call would need a body for each; this
// many is taken for one without end.
constexpr std::size_t kMostBodies = 1000;

using Values = std::vector<Endpoint>;

// Where nodes are added: a body, and a branch of it.
struct Scope {
  int body;
  Endpoint marker = {};
};

// A function that is being run, in one phase or in several.
struct Activation {
  Scope scope;
  Phases phases;
  // Where the body is lowered in place, this is what is known so far.
  const Function* function = nullptr;
  Values values = {};
  std::vector<std::size_t> value_phases = {};
  // Where it is run by calls, this is their site.
  int site = -1;
};

// What an enter began, to be entered again: one activation, or those of the
// two branches.
struct Chain {
  Scope scope;
  std::vector<Activation> activations;
  Endpoint predicate = {};
};

// Stands for an activation among the values of a function.
Endpoint chain_value(std::size_t chain) {
  return {-1, static_cast<int>(chain)};
}

class Lowering {
 public:
  Lowering(const Graph& graph, std::string_view entry, const OpPlacer* placer)
      : graph_(graph), placer_(placer) {
    // The caller of the run counts as a reference to the entry.
    ++references_[std::string(entry)];
    for (const Function& function : graph.functions) {
      for (const Node& node : function.nodes()) count_references(node);
    }
  }

  Draft run(std::string_view name, std::span<const TensorType> arguments) {
    const Function* found = graph_.find(name);
    if (found == nullptr) {
      throw Error(ErrorCode::kInvalidArgument, "graph",
                  "there is no function @{}", name);
    }
    const FunctionRef entry = reference_to(*found);
    const Phases whole = Phases::whole(*entry.signature);
    // A body that is called has parameters that merge; the entry is not.
    const bool is_called = references_[entry.name] > 1;
    const Scope scope{add_body(is_called ? "entry" : entry.name, arguments)};
    Activation activation =
        is_called ? by_calls(body_of(entry, arguments), whole, scope, {})
                  : in_place(specialized(entry, arguments), whole, scope);
    set_results(scope.body, enter(activation, 0, parameters_of(scope.body)));
    // Calls found on the way add to the list.
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      const auto [body, function] = pending_[i];
      const FunctionRef reference = reference_to(*function);
      Activation own =
          in_place(*function, Phases::whole(*reference.signature), {body});
      set_results(body, enter(own, 0, parameters_of(body)));
    }
    connect_returns();
    return std::move(draft_);
  }

 private:
  static std::size_t index(int id) { return static_cast<std::size_t>(id); }

  // A re-entry refers to what its enter refers to.
  void count_references(const Node& node) {
    if (enters_again(*node.op)) return;
    for (const auto& [name, value] : node.attributes) {
      if (const auto* function = std::get_if<FunctionRef>(&value)) {
        ++references_[function->name];
      }
    }
  }

  const Function& specialized(const FunctionRef& callee,
                              std::span<const TensorType> arguments) {
    const Function* function = graph_.find(callee.name);
    WEFT_CHECK(function != nullptr, "@{} does not exist", callee.name);
    // A deque keeps its elements where they are: nodes of the draft point to
    // ops of these functions.
    return draft_.functions.emplace_back(eliminate_dead_nodes(
        specialize(*function, bind_call(callee, arguments))));
  }

  const TensorType& type(Endpoint value) const {
    return draft_.graph.type(value);
  }

  // --- Bodies --------------------------------------------------------------

  int add_body(std::string name, std::span<const TensorType> parameters) {
    if (draft_.graph.bodies.size() == kMostBodies) {
      throw Error(ErrorCode::kUnsupported, "@" + name,
                  "is called with more than {} combinations of shapes",
                  kMostBodies)
          .hint("a recursion must come back to shapes that it had before");
    }
    const auto body = static_cast<int>(draft_.graph.bodies.size());
    draft_.graph.bodies.push_back({std::move(name)});
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const int node = draft_.add({.kind = FlatKind::kParameter,
                                   .body = body,
                                   .index = static_cast<int>(i),
                                   .types = {parameters[i]}},
                                  {});
      draft_.graph.bodies.back().parameters.push_back(node);
    }
    return body;
  }

  Values parameters_of(int body) const {
    Values values;
    for (const int node : draft_.graph.body(body).parameters) {
      values.push_back({node, 0});
    }
    return values;
  }

  void set_results(int body, Values results) {
    draft_.graph.bodies[index(body)].results = std::move(results);
  }

  // The body of a function for arguments of such types, begun if it is new.
  int body_of(const FunctionRef& callee, std::span<const TensorType> types) {
    std::string key = callee.name;
    for (const TensorType& type : types) key += " " + to_string(type);
    const auto known = bodies_.find(key);
    if (known != bodies_.end()) return known->second;
    const Function& function = specialized(callee, types);
    const int body = add_body(callee.name, types);
    // The body is known before its own nodes are lowered, so a call of itself
    // finds it: a recursion becomes a cycle.
    bodies_.emplace(std::move(key), body);
    for (const ValueId result : function.results()) {
      // A Return has its type before the body has its results.
      result_types_[body].push_back(function.type(result));
    }
    // Bodies wait in a list rather than on the stack, as chains of functions
    // may be long.
    pending_.emplace_back(body, &function);
    return body;
  }

  // Results are known when all bodies are.
  void connect_returns() {
    for (FlatNode& node : draft_.graph.nodes) {
      if (node.kind != FlatKind::kReturn) continue;
      const int callee = draft_.graph.sites[index(node.site)].callee;
      node.inputs = {draft_.graph.body(callee).results[index(node.index)]};
    }
  }

  // --- Activations ---------------------------------------------------------

  Activation in_place(const Function& function, const Phases& phases,
                      Scope scope) {
    Activation made{scope, phases, &function};
    made.values.resize(function.value_count());
    made.value_phases = phases.of_values(function);
    return made;
  }

  Activation by_calls(int body, const Phases& phases, Scope scope,
                      const Location& location) {
    Activation made{scope, phases};
    // Where an argument begins the activation, form_regions() leaves it out.
    made.site = static_cast<int>(draft_.graph.sites.size());
    // What begins it if no argument is passed.
    const int begins = draft_.add({.kind = FlatKind::kCall,
                                   .body = scope.body,
                                   .trigger = scope.marker,
                                   .site = made.site},
                                  scope.marker);
    draft_.graph.sites.push_back({.caller = scope.body,
                                  .callee = body,
                                  .calls = {begins},
                                  .location = location});
    return made;
  }

  // The types of all parameters, as the arguments of the first phase tell.
  std::vector<TensorType> parameter_types(const FunctionRef& callee,
                                          const Phases& phases,
                                          std::span<const Endpoint> first) {
    const auto& parameters = callee.signature->parameters;
    // A later phase is entered with gradients, which are not there yet; their
    // shapes follow from the symbols that the first arguments settle.
    const auto count = static_cast<std::ptrdiff_t>(phases.first_argument(1));
    Signature known{{parameters.begin(), parameters.begin() + count}, {}};
    std::vector<TensorType> types;
    for (const Endpoint value : first) types.push_back(type(value));
    const Bindings bindings = bind_call(
        {callee.name, std::make_shared<Signature>(std::move(known))}, types);
    for (std::size_t i = types.size(); i < parameters.size(); ++i) {
      types.push_back(
          {parameters[i].dtype, substitute(parameters[i].shape, bindings)});
    }
    return types;
  }

  Activation by_calls(const FunctionRef& callee, const Phases& phases,
                      std::span<const Endpoint> first, Scope scope,
                      const Location& location) {
    const int body = body_of(callee, parameter_types(callee, phases, first));
    return by_calls(body, phases, scope, location);
  }

  // Lowers the branch in place if nothing else refers to the function.
  Activation branch(const FunctionRef& function, const Phases& phases,
                    std::span<const Endpoint> first, Scope scope,
                    const Location& location) {
    // A function that is referred to elsewhere, as by itself, stands in the
    // graph once and is called.
    if (references_[function.name] > 1) {
      return by_calls(function, phases, first, scope, location);
    }
    const auto types = parameter_types(function, phases, first);
    return in_place(specialized(function, types), phases, scope);
  }

  // The results of a phase, given its arguments.
  Values enter(Activation& activation, std::size_t phase,
               std::span<const Endpoint> arguments) {
    return activation.site < 0 ? enter_in_place(activation, phase, arguments)
                               : enter_by_calls(activation, phase, arguments);
  }

  Values enter_in_place(Activation& activation, std::size_t phase,
                        std::span<const Endpoint> arguments) {
    const Function& function = *activation.function;
    Values& values = activation.values;
    const std::size_t first = activation.phases.first_argument(phase);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      values[index(function.parameters()[first + i])] = arguments[i];
    }
    for (const Node& node : function.nodes()) {
      // Nodes of earlier phases are in the graph already, and their values are
      // read again as they stand: nothing is computed twice.
      if (activation.value_phases[index(node.outputs[0])] != phase) continue;
      Values inputs;
      for (const ValueId id : node.inputs) inputs.push_back(values[index(id)]);
      const Values outputs =
          node.op->has(kControl)
              ? add_control(node, inputs, activation.scope)
              : add_op(function, node, std::move(inputs), activation.scope);
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        values[index(node.outputs[i])] = outputs[i];
      }
    }
    Values results;
    for (std::size_t i = activation.phases.first_result(phase);
         i < activation.phases.first_result(phase + 1); ++i) {
      results.push_back(values[index(function.results()[i])]);
    }
    return results;
  }

  // A Call per argument, a Return per result.
  Values enter_by_calls(const Activation& activation, std::size_t phase,
                        std::span<const Endpoint> arguments) {
    const Scope scope = activation.scope;
    const int callee = draft_.graph.sites[index(activation.site)].callee;
    const Body& body = draft_.graph.body(callee);
    const auto add = [&](FlatKind kind, std::size_t i, const TensorType& of) {
      return draft_.add({.kind = kind,
                         .body = scope.body,
                         .site = activation.site,
                         .phase = static_cast<int>(phase),
                         .index = static_cast<int>(i),
                         .types = {of}},
                        scope.marker);
    };
    CallSite& site = draft_.graph.sites[index(activation.site)];
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const std::size_t at = activation.phases.first_argument(phase) + i;
      const int node = add(FlatKind::kCall, at, type(arguments[i]));
      // A parameter has an input for each site that calls its body, and so
      // merges them.
      draft_.graph.nodes[index(node)].inputs = {arguments[i]};
      draft_.graph.nodes[index(body.parameters[at])].inputs.push_back({node});
      site.calls.push_back(node);
    }
    Values results;
    for (std::size_t i = activation.phases.first_result(phase);
         i < activation.phases.first_result(phase + 1); ++i) {
      const int node = add(FlatKind::kReturn, i, result_types_.at(callee)[i]);
      site.returns.push_back(node);
      results.push_back({node});
    }
    return results;
  }

  // --- Nodes ---------------------------------------------------------------

  Values add_op(const Function& function, const Node& node, Values inputs,
                Scope scope) {
    const auto op = static_cast<int>(draft_.ops.size());
    draft_.ops.push_back(&node);
    draft_.ranks.push_back(
        placer_ == nullptr ? 0
                           : placer_->rank_of(function.name(), node.location));
    const int id = draft_.add({.kind = FlatKind::kRegion,
                               .body = scope.body,
                               .inputs = std::move(inputs),
                               .region = op,
                               .types = function.output_types(node)},
                              scope.marker);
    Values outputs;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      outputs.push_back({id, static_cast<int>(i)});
    }
    return outputs;
  }

  Values add_control(const Node& node, const Values& inputs, Scope scope) {
    if (enters_again(*node.op)) return enter_again(node, inputs);
    const OpDef& op = *node.op;
    const Attributes& attributes = node.attributes;
    const bool is_phased = leaves_activation(op);
    Chain chain{scope, {}};
    if (op == known::call || op == known::call_enter) {
      const FunctionRef& function = attributes.function("function");
      const Phases phases = is_phased ? Phases::of(attributes)
                                      : Phases::whole(*function.signature);
      chain.activations.push_back(
          by_calls(function, phases, inputs, scope, node.location));
    } else {
      WEFT_CHECK(is_branch(op), "{} has no flat form", op.name());
      const FunctionRef& then = attributes.function("then");
      const Phases phases =
          is_phased ? Phases::of(attributes) : Phases::whole(*then.signature);
      chain.predicate = inputs[0];
      const int marker = add_switch(inputs[0], inputs[0], scope);
      const auto arguments = std::span(inputs).subspan(1);
      // A branch stands in the caller's activation, so both sides are built
      // with its predicate as marker; at run time one of them receives
      // something.
      for (int side = 0; side < 2; ++side) {
        const auto& function =
            side == 0 ? then : attributes.function("otherwise");
        chain.activations.push_back(branch(function, phases, arguments,
                                           {scope.body, {marker, side}},
                                           node.location));
      }
    }
    Values results = enter_phase(chain, 0, inputs);
    if (is_phased) {
      results.push_back(chain_value(chains_.size()));
      chains_.push_back(std::move(chain));
    }
    return results;
  }

  Values enter_again(const Node& node, const Values& inputs) {
    // What is re-entered was found while lowering, so the value needs no form
    // in the graph: it says which chain of this pass is meant.
    const Endpoint activation = inputs[0];
    WEFT_CHECK(activation.node < 0, "what is entered again is an activation");
    const auto phase =
        index(static_cast<int>(node.attributes.integer("phase")));
    Chain& chain = chains_[index(activation.output)];
    Values results = enter_phase(chain, phase, inputs);
    if (phase + 1 < chain.activations[0].phases.count()) {
      // While phases remain, the activation can be entered once more.
      results.push_back(activation);
    }
    return results;
  }

  // The last of `operands` are this phase's arguments.
  Values enter_phase(Chain& chain, std::size_t phase,
                     std::span<const Endpoint> operands) {
    const auto count =
        index(static_cast<int>(chain.activations[0].phases.arguments[phase]));
    const auto arguments = operands.last(count);
    if (chain.predicate.node < 0) {
      return enter(chain.activations[0], phase, arguments);
    }
    std::array<Values, 2> sides;
    for (const Endpoint argument : arguments) {
      // Arguments of a later phase pass a Switch with the predicate of the
      // first, and so reach the branch that was taken.
      const int node = add_switch(argument, chain.predicate, chain.scope);
      for (int side = 0; side < 2; ++side) {
        sides[index(side)].push_back({node, side});
      }
    }
    const Values then = enter(chain.activations[0], phase, sides[0]);
    const Values otherwise = enter(chain.activations[1], phase, sides[1]);
    Values results;
    for (std::size_t i = 0; i < then.size(); ++i) {
      const int node = draft_.add({.kind = FlatKind::kMerge,
                                   .body = chain.scope.body,
                                   .inputs = {then[i], otherwise[i]},
                                   .types = {type(then[i])}},
                                  chain.scope.marker);
      results.push_back({node});
    }
    return results;
  }

  int add_switch(Endpoint data, Endpoint predicate, Scope scope) {
    return draft_.add({.kind = FlatKind::kSwitch,
                       .body = scope.body,
                       .inputs = {data, predicate},
                       .types = {type(data), type(data)}},
                      scope.marker);
  }

  const Graph& graph_;
  const OpPlacer* placer_;
  Draft draft_;
  std::map<std::string, int> references_;  // by function
  std::map<std::string, int> bodies_;      // by function and types
  std::map<int, std::vector<TensorType>> result_types_;
  std::vector<std::pair<int, const Function*>> pending_;
  std::deque<Chain> chains_;  // nested enters add to it
};

}  // namespace

int Draft::add(FlatNode node, Endpoint marker) {
  const auto id = static_cast<int>(graph.nodes.size());
  graph.nodes.push_back(std::move(node));
  markers.push_back(marker);
  return id;
}

FlatGraph lower(const Graph& graph, std::string_view entry,
                std::span<const TensorType> arguments,
                std::span<const std::size_t> late, const OpPlacer* placer) {
  const auto later = std::accumulate(late.begin(), late.end(), std::size_t{0});
  WEFT_CHECK(later <= arguments.size());
  // Each pass relies on those before it. Loops are recursions from here on.
  // Phases that nothing enters go before any body is built, as an activation
  // would wait for them.
  // Arguments that are read in place are known before places are chosen, since
  // they are not passed on. Regions come last: their ops are of one rank, and
  // those that only add are apart.
  const Graph needed = needed_phases(loops_to_recursion(graph), entry);
  Draft draft = Lowering(needed, entry, placer).run(entry, arguments);
  const auto& parameters = draft.graph.body(0).parameters;
  std::size_t next = arguments.size() - later;
  for (std::size_t phase = 0; phase < late.size(); ++phase) {
    for (const std::size_t end = next + late[phase]; next < end; ++next) {
      draft.graph.nodes[static_cast<std::size_t>(parameters[next])].phase =
          static_cast<int>(phase) + 1;
    }
  }
  read_arguments_in_place(draft);
  if (placer != nullptr)
    placer->place_others(draft);
  else
    accumulate_sums(draft);
  FlatGraph flat = form_regions(draft);
  verify(flat);
  return flat;
}

}  // namespace weft
