#include "weft/compiler/flat/needed_phases.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>

#include "weft/base/index.h"
#include "weft/compiler/dead_nodes.h"
#include "weft/graph/function_copy.h"
#include "weft/graph/known_ops.h"
#include "weft/graph/phases.h"

namespace weft {
namespace {

using PhaseSet = std::set<std::size_t>;

// A function, as it is divided where it is entered.
struct Divided {
  std::string name;
  Phases phases;

  bool operator<(const Divided& other) const {
    return std::tie(name, phases.arguments, phases.results) <
           std::tie(other.name, other.phases.arguments, other.phases.results);
  }
};

Phases phases_of(const Node& node, const FunctionRef& callee) {
  // An ordinary call enters a function as a whole, which is one phase.
  return leaves_activation(*node.op) ? Phases::of(node.attributes)
                                     : Phases::whole(*callee.signature);
}

template <class Visit>
void for_each_callee(const Node& node, Visit&& visit) {
  for (const auto& [name, value] : node.attributes) {
    if (const auto* callee = std::get_if<FunctionRef>(&value)) visit(*callee);
  }
}

std::size_t phase_of(const Node& node) {
  return enters_again(*node.op) ? at(node.attributes.integer("phase")) : 0;
}

// Operands before the arguments: an activation, a predicate.
std::size_t leading_operands(const Node& node) {
  return (enters_again(*node.op) ? 1u : 0u) + (is_branch(*node.op) ? 1u : 0u);
}

// For each node that enters an activation, the one that entered it first.
std::vector<NodeId> chains_of(const Function& function) {
  std::vector<NodeId> chains;
  for (const Node& node : function.nodes()) {
    const auto id = static_cast<NodeId>(chains.size());
    NodeId chain = -1;
    if (leaves_activation(*node.op)) chain = id;
    if (enters_again(*node.op)) {
      // The activation is the first operand, and was left by a node that stands
      // before this one.
      chain = chains[at(function.value(node.inputs[0]).node)];
    }
    chains.push_back(chain);
  }
  return chains;
}

// What of a function some of its phases need.
struct Live {
  std::vector<bool> nodes;
  std::vector<bool> values;
  std::map<NodeId, PhaseSet> chains;  // the phases that stay, by the enter
};

class NeededPhases {
 public:
  explicit NeededPhases(const Graph& graph) : graph_(graph) {}

  Graph run(const Function& entry) {
    const FunctionRef reference = reference_to(entry);
    const Phases whole = Phases::whole(*reference.signature);
    find_needs({entry.name(), whole});
    reduced(reference, whole, {0});
    Graph result;
    // Functions that are met on the way add to the list.
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      result.functions.push_back(reduce(wanted_[i]));
    }
    return result;
  }

 private:
  // A function that is made from another.
  struct Wanted {
    Divided from;
    PhaseSet kept;
    std::string name;
  };

  const Function& find(const std::string& name) const {
    const Function* function = graph_.find(name);
    WEFT_CHECK(function != nullptr, "@{} is not in the graph", name);
    return *function;
  }

  // --- Which phases a phase needs ------------------------------------------

  // Sets needs_ to the least that holds. A recursion's needs are its own, so
  // they are assumed to be nothing and grow until they are consistent.
  void find_needs(const Divided& entry) {
    std::vector<Divided> all{entry};
    // A function divided in two ways has needs of its own for each: both are
    // entries.
    add_needs(entry);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string caller = all[i].name;
      for (const Node& node : find(caller).nodes()) {
        if (enters_again(*node.op)) continue;
        for_each_callee(node, [&](const FunctionRef& callee) {
          Divided divided{callee.name, phases_of(node, callee)};
          if (add_needs(divided)) all.push_back(std::move(divided));
        });
      }
    }
    for (bool has_grown = true; has_grown;) {
      has_grown = false;
      for (const Divided& each : all) has_grown |= grow_needs(each);
    }
  }

  // False if they are there already. The first phase begins the activation.
  bool add_needs(const Divided& divided) {
    std::vector<PhaseSet> needs;
    for (std::size_t phase = 0; phase < divided.phases.count(); ++phase) {
      // The first phase begins the activation, so that no other comes without
      // it.
      needs.push_back({0, phase});
    }
    return needs_.emplace(divided, std::move(needs)).second;
  }

  bool grow_needs(const Divided& divided) {
    const Function& function = find(divided.name);
    std::vector<PhaseSet>& needs = needs_.at(divided);
    bool has_grown = false;
    // A function in one phase needs no other.
    for (std::size_t phase = 1; phase < needs.size(); ++phase) {
      const Live live = live_in(function, divided.phases, needs[phase]);
      const std::size_t before = needs[phase].size();
      for (std::size_t other = 1; other < phase; ++other) {
        for (std::size_t i = divided.phases.first_argument(other);
             i < divided.phases.first_argument(other + 1); ++i) {
          if (live.values[at(function.parameters()[i])]) {
            needs[phase].insert(other);
          }
        }
      }
      has_grown |= needs[phase].size() > before;
    }
    return has_grown;
  }

  // The phases of what `enter` begins that lead to results of `phase`.
  void add_needed(const Node& enter, std::size_t phase, PhaseSet& kept) const {
    // A branch enters one of two functions, and which is not known: both have
    // to be served.
    for_each_callee(enter, [&](const FunctionRef& callee) {
      const auto& needed =
          needs_.at({callee.name, phases_of(enter, callee)})[phase];
      kept.insert(needed.begin(), needed.end());
    });
  }

  // What the results of the phases `kept` are computed from.
  Live live_in(const Function& function, const Phases& phases,
               const PhaseSet& kept) const {
    Live live{std::vector<bool>(function.nodes().size(), false),
              std::vector<bool>(function.value_count(), false),
              {}};
    const auto use = [&](ValueId id) { live.values[at(id)] = true; };
    for (const std::size_t phase : kept) {
      for (std::size_t i = phases.first_result(phase);
           i < phases.first_result(phase + 1); ++i) {
        use(function.results()[i]);
      }
    }
    const auto value_phases = phases.of_values(function);
    const auto chains = chains_of(function);
    const auto runs = runs_unread(function);
    // Nodes are met from the last to the first, so that all readers of a value
    // have been met before its maker.
    for (std::size_t i = function.nodes().size(); i-- > 0;) {
      const Node& node = function.nodes()[i];
      const auto is_used = [&](ValueId id) { return live.values[at(id)]; };
      if (chains[i] < 0) {
        live.nodes[i] =
            (runs[i] && kept.contains(value_phases[at(node.outputs[0])])) ||
            std::ranges::any_of(node.outputs, is_used);
        if (live.nodes[i]) std::ranges::for_each(node.inputs, use);
        continue;
      }
      // Later nodes of the chain have been met already, and have said which
      // earlier phases they need; that an earlier node leaves the activation
      // which they enter is no reason to keep it.
      PhaseSet& entered = live.chains[chains[i]];
      const std::size_t phase = phase_of(node);
      const Phases own = Phases::of(node.attributes);
      const auto results =
          std::span(node.outputs).first(at(own.results[phase]));
      if (std::ranges::any_of(results, is_used)) {
        add_needed(function.node(chains[i]), phase, entered);
      }
      live.nodes[i] = entered.contains(phase);
      if (live.nodes[i]) use_operands(node, own, phase, use);
    }
    return live;
  }

  // The arguments of earlier phases come along for their types alone.
  template <class Use>
  static void use_operands(const Node& node, const Phases& phases,
                           std::size_t phase, Use&& use) {
    const std::size_t leading = leading_operands(node);
    const std::size_t own = leading + phases.first_argument(phase);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const bool leads = i < leading && !is_activation(node, i);
      if (leads || i >= own) use(node.inputs[i]);
    }
  }

  static bool is_activation(const Node& node, std::size_t input) {
    return input == 0 && enters_again(*node.op);
  }

  // --- Functions in fewer phases -------------------------------------------

  // The function in the phases `kept`, which is made later.
  FunctionRef reduced(const FunctionRef& from, const Phases& phases,
                      const PhaseSet& kept) {
    const bool is_whole = kept.size() == phases.count();
    std::string name = from.name;
    Signature signature;
    // A function that keeps all of its phases keeps its name, which people
    // know.
    if (!is_whole) name += ".phases";
    for (const std::size_t phase : kept) {
      if (!is_whole) name += fmt::format(".{}", phase);
      const auto append = [](auto& to, const auto& types, std::size_t first,
                             std::size_t last) {
        to.insert(to.end(), types.begin() + static_cast<std::ptrdiff_t>(first),
                  types.begin() + static_cast<std::ptrdiff_t>(last));
      };
      append(signature.parameters, from.signature->parameters,
             phases.first_argument(phase), phases.first_argument(phase + 1));
      append(signature.results, from.signature->results,
             phases.first_result(phase), phases.first_result(phase + 1));
    }
    const Divided divided{from.name, phases};
    // It is named before it is made: a recursion refers to itself.
    const auto [known, is_new] = names_.try_emplace({divided, kept}, name);
    if (is_new) wanted_.push_back({divided, kept, name});
    return {known->second, std::make_shared<Signature>(std::move(signature))};
  }

  Function reduce(const Wanted& wanted) {
    const Function& function = find(wanted.from.name);
    const Phases& phases = wanted.from.phases;
    const Live live = live_in(function, phases, wanted.kept);
    const auto chains = chains_of(function);
    FunctionCopy copy(function, wanted.name);
    std::vector<ValueId> results;
    for (const std::size_t phase : wanted.kept) {
      for (std::size_t i = phases.first_argument(phase);
           i < phases.first_argument(phase + 1); ++i) {
        copy.add_parameter(function.parameters()[i]);
      }
      for (std::size_t i = phases.first_result(phase);
           i < phases.first_result(phase + 1); ++i) {
        results.push_back(function.results()[i]);
      }
    }
    std::map<NodeId, ValueId> activations;  // by the enter
    for (std::size_t i = 0; i < function.nodes().size(); ++i) {
      const Node& node = function.nodes()[i];
      if (!live.nodes[i]) continue;
      if (chains[i] < 0) {
        copy.add_node(node, with_reduced_callees(node));
      } else {
        add_entering(copy, node, live.chains.at(chains[i]),
                     activations[chains[i]]);
      }
    }
    return copy.finish(results);
  }

  Attributes with_reduced_callees(const Node& node) {
    Attributes attributes = node.attributes;
    for (auto& [name, value] : attributes) {
      if (auto* callee = std::get_if<FunctionRef>(&value)) {
        *callee = reduced(*callee, Phases::whole(*callee->signature), {0});
      }
    }
    return attributes;
  }

  // The node with those phases of its callee alone that stay. `activation` is
  // what the node before it in the chain has left.
  void add_entering(FunctionCopy& copy, const Node& node, const PhaseSet& kept,
                    ValueId& activation) {
    const std::size_t phase = phase_of(node);
    const Phases phases = Phases::of(node.attributes);
    const auto own = at(std::distance(kept.begin(), kept.find(phase)));
    Attributes attributes;
    Integers arguments, results;
    std::vector<ValueId> inputs;
    const std::size_t leading = leading_operands(node);
    for (std::size_t i = 0; i < leading; ++i) {
      inputs.push_back(is_activation(node, i) ? activation
                                              : copy[node.inputs[i]]);
    }
    for (const std::size_t each : kept) {
      arguments.push_back(phases.arguments[each]);
      results.push_back(phases.results[each]);
      // Arguments of later phases are not known where this one is entered.
      if (each > phase) continue;
      for (std::size_t i = phases.first_argument(each);
           i < phases.first_argument(each + 1); ++i) {
        inputs.push_back(copy[node.inputs[leading + i]]);
      }
    }
    for (const auto& [name, value] : node.attributes) {
      if (const auto* callee = std::get_if<FunctionRef>(&value)) {
        attributes.set(name, reduced(*callee, phases, kept));
      }
    }
    const OpDef* op = node.op;
    // With one phase left there is no activation to come back to: it is an
    // ordinary call.
    if (kept.size() == 1) {
      op = is_branch(*op) ? &known::cond.get() : &known::call.get();
    } else {
      attributes.set("arguments", arguments);
      attributes.set("results", results);
      if (own > 0) attributes.set("phase", static_cast<std::int64_t>(own));
    }
    const Node& made = copy.function().add_node(*op, std::move(inputs),
                                                attributes, node.location);
    // Only this phase's results are the node's; the activation lies behind
    // them.
    for (std::size_t i = 0; i < at(results[own]); ++i) {
      copy[node.outputs[i]] = made.outputs[i];
    }
    if (own + 1 < kept.size()) activation = made.outputs.back();
  }

  const Graph& graph_;
  // The phases that each phase needs, itself among them.
  std::map<Divided, std::vector<PhaseSet>> needs_;
  std::map<std::pair<Divided, PhaseSet>, std::string> names_;
  std::deque<Wanted> wanted_;
};

}  // namespace

Graph needed_phases(const Graph& graph, std::string_view entry) {
  const bool has_phases =
      std::ranges::any_of(graph.functions, [](const Function& function) {
        return std::ranges::any_of(function.nodes(), [](const Node& node) {
          return leaves_activation(*node.op);
        });
      });
  const Function* first = graph.find(entry);
  // What calls and branches alone needs no second look.
  return first != nullptr && has_phases ? NeededPhases(graph).run(*first)
                                        : graph;
}

}  // namespace weft
