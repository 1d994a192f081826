#include "weft/ops/custom_gradient.h"

#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "weft/graph/batch.h"
#include "weft/graph/builder.h"
#include "weft/graph/gradient.h"
#include "weft/graph/registry.h"
#include "weft/ops/constant.h"
#include "weft/ops/reduce.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/elementwise.h"

namespace weft {
namespace {

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
  // A seed is as its result is.
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

void seed_reference(const OpCall&, std::span<const TensorView>,
                    std::span<const TensorView> outputs) {
  if (outputs[0].type.bytes() > 0) {
    std::memset(outputs[0].data, 0, outputs[0].type.bytes());
  }
}

std::vector<OpSample> seed_samples() {
  return {{{{{DType::kF32, {4, 3}}, -1, 1, false}}, {}},
          {{{{DType::kF64, {}}, -1, 1, false}}, {}}};
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
      .summary("zeros like y, where its gradient will stand")
      .signature("(y) -> seed")
      .traits(kNoGradient)
      .infer(infer_floating_unary)
      .reference(seed_reference)
      .batch(batch_elementwise)
      .cost([](const OpCall&) { return Cost{}; })
      .samples(seed_samples);
}

Value seed_like(const Value& y) {
  static const OpDef& op = op_registry().get("seed_like");
  return call(op, {&y}, {}, Location());
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

std::vector<Value> copied(const std::vector<Value>& results,
                          const std::vector<Value>& from,
                          const std::vector<Value>& to) {
  FunctionBuilder* builder = current_context().builder();
  WEFT_CHECK(builder != nullptr, "nodes are copied where a function is built");
  std::unordered_map<ValueId, Value> made;
  // Where a copy finds one of these, it uses the replacement and looks no
  // further.
  for (std::size_t i = 0; i < from.size(); ++i) {
    made.emplace(builder->id_of(from[i]), to[i]);
  }
  // Backwards, what the results need; forwards, what of it depends on `from`.
  // A copy, as the function grows meanwhile.
  const auto nodes = builder->function().nodes();
  std::unordered_set<ValueId> needed;
  for (const Value& result : results) needed.insert(builder->id_of(result));
  std::vector<bool> is_needed(nodes.size());
  for (std::size_t n = nodes.size(); n-- > 0;) {
    for (const ValueId output : nodes[n].outputs) {
      if (needed.contains(output)) is_needed[n] = true;
    }
    if (!is_needed[n]) continue;
    needed.insert(nodes[n].inputs.begin(), nodes[n].inputs.end());
  }
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const Node& node = nodes[n];
    // The seeds themselves are replaced, and not made again.
    // Nodes stand in the order of their making, so that operands have been
    // copied before they are used.
    if (!is_needed[n] || made.contains(node.outputs.front())) continue;
    bool depends = false;
    std::vector<Value> inputs;
    for (const ValueId input : node.inputs) {
      const auto found = made.find(input);
      depends = depends || found != made.end();
      inputs.push_back(found != made.end() ? found->second
                                           : Value(*builder, input));
    }
    // What does not depend on the seeds is the same in the copy, and is shared.
    if (!depends) continue;
    const auto outputs =
        call_all(*node.op, inputs, node.attributes, node.location);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      made.emplace(node.outputs[i], outputs[i]);
    }
  }
  std::vector<Value> copies;
  for (const Value& result : results) {
    const auto found = made.find(builder->id_of(result));
    copies.push_back(found != made.end() ? found->second : result);
  }
  return copies;
}

}  // namespace weft
