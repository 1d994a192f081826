#include "weft/ops/custom_gradient.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "weft/graph/batch.h"
#include "weft/graph/builder.h"
#include "weft/graph/gradient.h"
#include "weft/graph/phases.h"
#include "weft/graph/registry.h"
#include "weft/ops/constant.h"
#include "weft/ops/reduce.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/elementwise.h"

namespace weft {
namespace {

// The values in the place of others, by these.
using ReplacedValues = std::unordered_map<ValueId, Value>;

// The operands, part by part.
struct Parts {
  explicit Parts(const Attributes& attributes)
      : arguments(static_cast<std::size_t>(attributes.integer("arguments"))),
        results(static_cast<std::size_t>(attributes.integer("results"))),
        flows(attributes.integers("flows")) {}

  std::size_t first_result() const { return arguments; }
  std::size_t first_seed() const { return arguments + results; }
  std::size_t first_gradient(std::size_t operands) const {
    return operands - flows.size();
  }

  std::size_t arguments;
  std::size_t results;
  const Integers& flows;  // the arguments that have a gradient
};

std::vector<TensorType> infer_custom(const OpCall& call) {
  // Each is compared alone: what is read from a file may be any number, and
  // sums of such could overflow.
  const auto most = static_cast<std::int64_t>(call.inputs.size());
  bool fits = true;
  for (const char* part : {"arguments", "results"}) {
    const std::int64_t count = call.attributes.integer(part);
    fits = fits && count >= 0 && count <= most;
  }
  const Parts parts(call.attributes);
  if (!fits || parts.first_seed() + parts.flows.size() > call.inputs.size()) {
    throw call.error(
        "there are fewer operands than 'arguments', 'results' and "
        "'flows' say");
  }
  for (std::size_t i = 0; i < parts.flows.size(); ++i) {
    const auto argument = static_cast<std::size_t>(parts.flows[i]);
    const auto gradient = parts.first_gradient(call.inputs.size()) + i;
    // A gradient must be of its argument's type, since reverse mode adds it to
    // others of that argument.
    if (argument >= parts.arguments ||
        call.input(gradient) != call.input(argument)) {
      throw call.error("the gradient of argument {} is {}", argument,
                       to_string(call.input(gradient)));
    }
  }
  const auto first =
      call.inputs.begin() + static_cast<std::ptrdiff_t>(parts.first_result());
  return {first, first + static_cast<std::ptrdiff_t>(parts.results)};
}

void custom_reference(const OpCall& call, std::span<const TensorView> inputs,
                      std::span<const TensorView> outputs) {
  const Parts parts(call.attributes);
  for (std::size_t i = 0; i < parts.results; ++i) {
    const TensorView& result = inputs[parts.first_result() + i];
    const std::size_t bytes = result.type.bytes();
    // An empty tensor may have no memory, and memcpy of null is undefined.
    if (bytes > 0) std::memcpy(outputs[i].data, result.data, bytes);
  }
}

// For running, the results are what they are.
std::vector<Value> lower_custom(const Attributes& attributes,
                                std::span<const Value> inputs) {
  const Parts parts(attributes);
  const auto own = inputs.subspan(parts.first_result(), parts.results);
  return {own.begin(), own.end()};
}

Gradients custom_gradient_rule(const GradientContext& g) {
  const Parts parts(g.attributes());
  std::vector<Value> seeds, arrived, gradients;
  std::size_t seed = parts.first_seed();
  for (std::size_t i = 0; i < parts.results; ++i) {
    if (!is_floating(g.y(i).dtype())) continue;
    // Integers have no seed, so that seeds are counted apart from results.
    seeds.push_back(g.x(seed++));
    // The gradient was written for seeds of every floating result, also for
    // those that nothing flows into this time.
    arrived.push_back(g.dy(i).is_defined() ? g.dy(i) : zeros_like(g.y(i)));
  }
  for (std::size_t i = parts.first_gradient(g.input_count());
       i < g.input_count(); ++i) {
    gradients.push_back(g.x(i));
  }
  Gradients found(g.input_count());
  // The gradient stands in the graph as a function of the seeds. It is copied
  // with what arrived in their place.
  const auto made = copied(gradients, seeds, arrived);
  for (std::size_t i = 0; i < made.size(); ++i) {
    found[static_cast<std::size_t>(parts.flows[i])] = made[i];
  }
  return found;
}

// The gradient of an argument that all instances share is the sum of theirs.
std::vector<Value> batch_custom(const BatchContext& b) {
  const Parts parts(b.attributes());
  std::vector<Value> operands;
  for (std::size_t i = 0; i < b.input_count(); ++i) operands.push_back(b.x(i));
  for (std::size_t i = 0; i < parts.results; ++i) {
    const std::size_t result = parts.first_result() + i;
    // What the op returns must be stacked, also where its results do not
    // differ.
    operands[result] = stacked(b, result);
  }
  // Seeds know of all that gradients are made from, and differ where that does
  // (seed_like()).
  std::size_t seed = parts.first_seed();
  for (; seed < parts.first_gradient(b.input_count()); ++seed) {
    operands[seed] = stacked(b, seed);
  }
  for (std::size_t i = 0; i < parts.flows.size(); ++i) {
    const std::size_t gradient = seed + i;
    const auto argument = static_cast<std::size_t>(parts.flows[i]);
    operands[gradient] =
        // This is what inference demands: a gradient has the type of its
        // argument.
        b.is_batched(argument) ? stacked(b, gradient) : b.sum(gradient);
  }
  return call_all(b.op(), operands, b.attributes(), Location());
}

std::vector<OpSample> custom_samples() {
  const auto constant = [](const Shape& shape) {
    return InputSample{{DType::kF32, shape}, -1, 1, false};
  };
  // x, w; y; its seed; the gradient of w.
  return {{{constant({3}), constant({2}), constant({3}), constant({3}),
            constant({2})},
           {{"arguments", std::int64_t{2}},
            {"results", std::int64_t{1}},
            {"flows", Integers{1}}}}};
}

// Which nodes `wanted` needs, but for those behind what is replaced.
std::vector<bool> nodes_behind(const Function& function,
                               const std::vector<ValueId>& wanted,
                               const ReplacedValues& replaced) {
  const auto& nodes = function.nodes();
  std::unordered_set<ValueId> needed(wanted.begin(), wanted.end());
  std::vector<bool> is_needed(nodes.size());
  for (std::size_t n = nodes.size(); n-- > 0;) {
    for (const ValueId output : nodes[n].outputs) {
      if (needed.contains(output)) is_needed[n] = true;
    }
    if (!is_needed[n]) continue;
    needed.insert(nodes[n].inputs.begin(), nodes[n].inputs.end());
    // What is replaced is not made again.
    if (replaced.contains(nodes[n].outputs.front())) is_needed[n] = false;
  }
  return is_needed;
}

// The nodes of what `wanted` needs that depend on what is replaced; all others
// are the same in the copy, and are shared. But an activation is entered once
// in each phase: one that a copy enters again is begun by a copy.
std::vector<bool> nodes_to_copy(const Function& function,
                                const std::vector<ValueId>& wanted,
                                const ReplacedValues& replaced) {
  const std::vector<bool> is_needed = nodes_behind(function, wanted, replaced);
  std::vector<bool> is_copied(is_needed.size());
  std::unordered_set<ValueId> changed;
  for (const auto& [id, value] : replaced) changed.insert(id);
  for (bool is_complete = false; !is_complete;) {
    is_complete = true;
    for (std::size_t n = 0; n < is_needed.size(); ++n) {
      const Node& node = function.nodes()[n];
      const auto is_changed = [&](ValueId id) { return changed.contains(id); };
      if (!is_copied[n] &&
          !(is_needed[n] && std::ranges::any_of(node.inputs, is_changed))) {
        continue;
      }
      is_copied[n] = true;
      changed.insert(node.outputs.begin(), node.outputs.end());
      if (!enters_again(*node.op)) continue;
      const auto begun =
          static_cast<std::size_t>(function.value(node.inputs[0]).node);
      if (is_copied[begun]) continue;
      is_copied[begun] = true;
      is_complete = false;
    }
  }
  return is_copied;
}

std::vector<TensorType> infer_seed(const OpCall& call) {
  if (!is_floating(call.input(0).dtype)) {
    throw call.error("nothing flows to {}", to_string(call.input(0)));
  }
  return {call.input(0)};
}

// Whichever operand instances differ in, each has a seed of its own.
std::vector<Value> batch_seed(const BatchContext& b) {
  std::vector<Value> operands = {stacked(b, 0)};
  for (std::size_t i = 1; i < b.input_count(); ++i) operands.push_back(b.x(i));
  return call_all(b.op(), operands, {}, Location());
}

void seed_reference(const OpCall&, std::span<const TensorView>,
                    std::span<const TensorView> outputs) {
  if (outputs[0].type.bytes() > 0) {
    std::memset(outputs[0].data, 0, outputs[0].type.bytes());
  }
}

std::vector<OpSample> seed_samples() {
  return {
      {{{{DType::kF32, {4, 3}}, -1, 1, false}}, {}},
      {{{{DType::kF64, {}}, -1, 1, false}, {{DType::kF32, {2}}, -1, 1, false}},
       {}}};
}

}  // namespace

void register_custom_gradient(OpRegistry& ops) {
  ops.add("custom_gradient")
      .summary("results whose gradients are given, as made from seeds")
      .signature("(arguments_results_seeds_gradients...) -> results")
      .required("arguments", std::int64_t{0})
      .required("results", std::int64_t{1})
      .required("flows", Integers())
      .infer(infer_custom)
      .reference(custom_reference)
      .lower(lower_custom)
      .gradient(custom_gradient_rule)
      .batch(batch_custom)
      .cost([](const OpCall&) { return Cost{}; })
      .samples(custom_samples);
  ops.add("seed_like")
      .summary("zeros like the first value, where its gradient will stand")
      .signature("(values...) -> seed")
      .traits(kNoGradient)
      .infer(infer_seed)
      .reference(seed_reference)
      .batch(batch_seed)
      .cost([](const OpCall&) { return Cost{}; })
      .samples(seed_samples);
}

Value seed_like(const Value& y, std::span<const Value> beside) {
  static const OpDef& op = op_registry().get("seed_like");
  std::vector<Value> operands = {y};
  operands.insert(operands.end(), beside.begin(), beside.end());
  return call_all(op, operands, {}, Location())[0];
}

std::vector<Value> with_gradient(const CustomGradient& custom,
                                 const Location& where) {
  static const OpDef& op = op_registry().get("custom_gradient");
  // The operands carry everything that reverse mode will need, so that no pass
  // drops it as unused before.
  std::vector<Value> operands = custom.arguments;
  for (const auto* part : {&custom.results, &custom.seeds}) {
    operands.insert(operands.end(), part->begin(), part->end());
  }
  Integers flows;
  for (std::size_t i = 0; i < custom.gradients.size(); ++i) {
    if (!custom.gradients[i].is_defined()) continue;
    flows.push_back(static_cast<std::int64_t>(i));
    operands.push_back(custom.gradients[i]);
  }
  return call_all(
      op, operands,
      {{"arguments", static_cast<std::int64_t>(custom.arguments.size())},
       {"results", static_cast<std::int64_t>(custom.results.size())},
       {"flows", flows}},
      where);
}

std::vector<Value> read_since(std::size_t first) {
  FunctionBuilder* builder = current_context().builder();
  WEFT_CHECK(builder != nullptr, "nodes are read where a function is built");
  const auto& nodes = builder->function().nodes();
  std::unordered_set<ValueId> known;
  std::vector<Value> read;
  for (std::size_t n = first; n < nodes.size(); ++n) {
    for (const ValueId input : nodes[n].inputs) {
      if (known.insert(input).second) read.emplace_back(*builder, input);
    }
    known.insert(nodes[n].outputs.begin(), nodes[n].outputs.end());
  }
  return read;
}

std::vector<Value> copied(const std::vector<Value>& results,
                          const std::vector<Value>& from,
                          const std::vector<Value>& to) {
  FunctionBuilder* builder = current_context().builder();
  WEFT_CHECK(builder != nullptr, "nodes are copied where a function is built");
  ReplacedValues made;
  // Where a copy finds one of these, it uses the replacement and looks no
  // further.
  for (std::size_t i = 0; i < from.size(); ++i) {
    made.emplace(builder->id_of(from[i]), to[i]);
  }
  std::vector<ValueId> wanted;
  for (const Value& result : results) wanted.push_back(builder->id_of(result));
  const std::vector<bool> is_copied =
      nodes_to_copy(builder->function(), wanted, made);
  // A copy, as the function grows meanwhile.
  const auto nodes = builder->function().nodes();
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (!is_copied[n]) continue;
    const Node& node = nodes[n];
    // Nodes stand in the order of their making, so that operands have been
    // copied before they are used.
    std::vector<Value> inputs;
    for (const ValueId input : node.inputs) {
      const auto found = made.find(input);
      inputs.push_back(found != made.end() ? found->second
                                           : Value(*builder, input));
    }
    const auto outputs =
        call_all(*node.op, inputs, node.attributes, node.location);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      made.emplace(node.outputs[i], outputs[i]);
    }
  }
  std::vector<Value> copies;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto found = made.find(wanted[i]);
    copies.push_back(found != made.end() ? found->second : results[i]);
  }
  return copies;
}

}  // namespace weft
