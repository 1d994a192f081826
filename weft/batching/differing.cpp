#include "weft/batching/differing.h"

#include <algorithm>

#include "weft/base/index.h"
#include "weft/graph/known_ops.h"
#include "weft/graph/phases.h"

namespace weft {
namespace {

template <class Visit>
void for_each_function(const Attributes& attributes, Visit&& visit) {
  for (const auto& [name, value] : attributes) {
    if (const auto* function = std::get_if<FunctionRef>(&value)) {
      visit(*function);
    }
  }
}

}  // namespace

Entering::Entering(const OpDef& op, const Attributes& attributes)
    : is_branch(weft::is_branch(op)),
      is_phased(weft::leaves_activation(op) || enters_again(op)),
      leading((enters_again(op) ? 1u : 0u) + (is_branch ? 1u : 0u)) {
  if (is_phased) phases = Phases::of(attributes);
  if (enters_again(op)) phase = at(attributes.integer("phase"));
}

std::size_t Entering::first_count(std::size_t parameters) const {
  // Without phases, all parameters are those of the first.
  return is_phased ? phases.first_argument(1) : parameters;
}

std::size_t Entering::result_count(std::size_t outputs) const {
  return is_phased ? at(phases.results[phase]) : outputs;
}

Flags Entering::parameters(const Flags& operands, std::size_t count) const {
  Flags flags(operands.begin() + static_cast<std::ptrdiff_t>(leading),
              operands.end());
  // Only the first phase's arguments are operands of this node. Those of later
  // phases are not known yet, and counted as different: that is right for
  // either, and only costs room.
  flags.resize(first_count(count));
  flags.resize(count, true);
  return flags;
}

void unite(Flags& flags, const Flags& others) {
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (others[i]) flags[i] = true;
  }
}

Differing::Differing(const Graph& graph, const Function& entry,
                     const Flags& parameters)
    : graph_(graph) {
  of_results(reference_to(entry), parameters);
}

// A recursion's results depend on themselves: they grow from nothing.
void Differing::settle() const {
  is_settling_ = true;
  // Flags only ever turn on, and there are finitely many keys, so that this
  // ends. Analysing may add keys; a map keeps its iterators valid then, and
  // another round visits what lay before the place.
  for (bool has_grown = true; has_grown;) {
    has_grown = false;
    const std::size_t before = known_.size();
    for (auto& [key, results] : known_) {
      Flags found = analyse(*graph_.find(key.first), key.second);
      has_grown = has_grown || found != results;
      results = std::move(found);
    }
    has_grown = has_grown || known_.size() > before;
  }
  is_settling_ = false;
}

const Flags& Differing::of_results(const FunctionRef& function,
                                   const Flags& parameters) const {
  // While settling, a new key starts from "nothing differs", and the round
  // after corrects it.
  const auto [known, is_new] =
      known_.try_emplace({function.name, parameters},
                         Flags(function.signature->results.size(), false));
  if (is_new && !is_settling_) settle();
  return known->second;
}

Flags Differing::analyse(const Function& function,
                         const Flags& parameters) const {
  Flags values(function.value_count(), false);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    values[at(function.parameters()[i])] = parameters[i];
  }
  const auto of = [&](const std::vector<ValueId>& ids) {
    Flags flags;
    for (const ValueId id : ids) flags.push_back(values[at(id)]);
    return flags;
  };
  for (const Node& node : function.nodes()) {
    const Flags outputs = of_node(*node.op, node.attributes, of(node.inputs),
                                  node.outputs.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      values[at(node.outputs[i])] = outputs[i];
    }
  }
  return of(function.results());
}

Flags Differing::of_node(const OpDef& op, const Attributes& attributes,
                         const Flags& operands, std::size_t results) const {
  // What all operands share, all results do; but of phases.
  const bool is_phased = leaves_activation(op) || enters_again(op);
  if (!op.has(kControl) || (!is_phased && !has_any(operands))) {
    // An op is as different as its operands: two instances whose operands agree
    // compute the same.
    return Flags(results, has_any(operands));
  }
  if (op == known::while_loop) {
    Flags flags = of_loop(op, attributes, operands);
    flags.resize(results);
    return flags;
  }
  if (op == known::scan) {
    const FunctionRef& body = attributes.function("body");
    const Flags parameters = of_loop(op, attributes, operands);
    Flags flags = of_results(body, parameters);
    // What a scan carries has one type in all steps, so that what differs after
    // any step differs at the end.
    const auto carried = attributes.integer("carried");
    std::copy_n(parameters.begin(), carried, flags.begin());
    return flags;
  }
  const Entering entering(op, attributes);
  // All functions that may be entered count: which one an instance takes is not
  // known here.
  const Flags all = of_functions(entering, attributes, operands);
  const auto first =
      all.begin() + static_cast<std::ptrdiff_t>(entering.first_result());
  Flags flags(first, first + static_cast<std::ptrdiff_t>(
                                 entering.result_count(results)));
  // An activation, which lies behind the results, is no number of an instance.
  flags.resize(results, false);
  return flags;
}

Flags Differing::of_functions(const Entering& entering,
                              const Attributes& attributes,
                              const Flags& operands) const {
  Flags flags;
  for_each_function(attributes, [&](const FunctionRef& function) {
    const Flags& own = of_results(
        function,
        entering.parameters(operands, function.signature->parameters.size()));
    flags.resize(own.size());
    unite(flags, own);
  });
  // Which of two functions an instance runs is a difference, too.
  if (entering.is_branch && operands[entering.leading - 1]) {
    flags.assign(flags.size(), true);
  }
  return flags;
}

Flags Differing::of_loop(const OpDef& loop, const Attributes& attributes,
                         Flags operands) const {
  const auto carried = at(attributes.integer("carried"));
  const FunctionRef& body = attributes.function("body");
  // A step may make one more of the carried values differ, and the next step
  // another by it. Each round adds at least one, so there are at most as many
  // rounds as values.
  for (;;) {
    Flags next = operands;
    Flags results = of_results(body, operands);
    results.resize(carried);
    unite(next, results);
    // Instances that end at different times differ in all that is carried.
    if (loop == known::while_loop &&
        // The condition counts with the values of this round: it may come to
        // differ only by what the body has spread.
        of_results(attributes.function("condition"), next)[0]) {
      std::fill_n(next.begin(), carried, true);
    }
    if (next == operands) return next;
    operands = std::move(next);
  }
}

}  // namespace weft
