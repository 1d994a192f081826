#include "weft/runtime/jit/gradient_split.h"

#include <algorithm>
#include <set>

#include "weft/autodiff/gradient.h"
#include "weft/compiler/inline_calls.h"
#include "weft/graph/function_copy.h"
#include "weft/graph/inlining.h"
#include "weft/graph/program.h"

namespace weft {
namespace {

// The function with every composite that has no gradient rule lowered.
Function lowered(const Function& function) {
  FunctionBuilder builder(function.name());
  return builder.build([&] { return rebuild(builder, function); });
}

// The nodes that compute `results` from `given`, which become the parameters.
// With `keep_host`, also all that calls code of the program.
Function extract(const Function& from, std::string name,
                 const std::vector<ValueId>& given,
                 const std::vector<ValueId>& results, bool keep_host) {
  std::vector<bool> is_known(from.value_count(), false);
  std::vector<bool> is_needed(from.value_count(), false);
  const auto at = [](ValueId id) { return static_cast<std::size_t>(id); };
  for (const ValueId id : given) is_known[at(id)] = true;
  for (const ValueId id : results) is_needed[at(id)] = true;
  const auto is_wanted = [&](const Node& node) {
    if (keep_host && node.op->has(kHost)) return true;
    return std::any_of(
        node.outputs.begin(), node.outputs.end(),
        [&](ValueId id) { return is_needed[at(id)] && !is_known[at(id)]; });
  };
  // A value that is given is not computed, nor is what only it needs.
  for (auto node = from.nodes().rbegin(); node != from.nodes().rend(); ++node) {
    if (!is_wanted(*node)) continue;
    for (const ValueId id : node->inputs) is_needed[at(id)] = true;
  }
  FunctionCopy part(from, std::move(name));
  for (const ValueId id : given) {
    if (part[id] < 0) {
      part.add_parameter(id);
    } else {
      // An output that is an argument is given twice, and read once.
      part.function().add_parameter(from.type(id), "");
    }
  }
  for (const Node& node : from.nodes()) {
    if (is_wanted(node)) part.add_node(node);
  }
  return part.finish(results);
}

}  // namespace

// The function followed by its gradient; values of the function keep their ids.
struct GradientSplit::Joint {
  Function function;
  std::vector<ValueId> seeds;  // parameters of `function`
};

GradientSplit::GradientSplit(const Function& function, std::size_t outputs,
                             std::vector<bool> wrt, std::size_t order)
    : function_(lowered(function)), outputs_(outputs), wrt_(std::move(wrt)) {
  WEFT_CHECK(wrt_.size() == function_.parameters().size());
  // What is saved is an output too, which a later gradient may arrive at: its
  // own gradient may read more, and so on for each order.
  for (std::size_t i = 0; i < order; ++i) {
    std::vector<bool> arrived;
    for (const ValueId id : differentiable()) {
      arrived.push_back(is_floating(function_.type(id).dtype));
    }
    std::vector<ValueId> next = needed(joint(arrived));
    // Nothing more will be added, as the next round would ask the same.
    if (next == saved_) break;
    saved_ = std::move(next);
  }
  std::vector<ValueId> results = function_.results();
  results.insert(results.end(), saved_.begin(), saved_.end());
  forward_ = extract(function_, function_.name() + ".forward",
                     function_.parameters(), results, /*keep_host=*/true);
}

std::vector<ValueId> GradientSplit::differentiable() const {
  const auto end =
      function_.results().begin() + static_cast<std::ptrdiff_t>(outputs_);
  std::vector<ValueId> ids(function_.results().begin(), end);
  ids.insert(ids.end(), saved_.begin(), saved_.end());
  return ids;
}

GradientSplit::Joint GradientSplit::joint(
    const std::vector<bool>& arrived) const {
  const std::vector<ValueId> outputs = differentiable();
  WEFT_CHECK(arrived.size() == outputs.size());
  Joint result;
  FunctionBuilder builder(function_.name() + ".backward");
  result.function = builder.build([&] {
    const auto parameters = add_parameters(builder, function_);
    const auto values = builder.inline_function(function_, parameters);
    std::vector<Value> roots;
    std::vector<Value> seeds;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!arrived[i]) continue;
      roots.push_back(values[static_cast<std::size_t>(outputs[i])]);
      seeds.push_back(builder.parameter(function_.type(outputs[i])));
      // A gradient that has not arrived is no parameter: its part of the
      // backward function is not built at all.
      result.seeds.push_back(static_cast<ValueId>(seeds.back().id()));
    }
    std::vector<Value> wrt;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (wrt_[i]) wrt.push_back(parameters[i]);
    }
    return gradients(builder, roots, seeds, wrt);
  });
  return result;
}

// Which values the backward part reads of the forward part, beside parameters
// and outputs; and what was saved before.
std::vector<ValueId> GradientSplit::needed(const Joint& joint) const {
  const Function& f = joint.function;
  const std::vector<ValueId> known = differentiable();
  const auto forward_nodes = function_.nodes().size();
  std::vector<bool> is_used(f.value_count(), false);
  // The set is in the order of ids, so that functions that are built alike save
  // alike.
  std::set<ValueId> found(saved_.begin(), saved_.end());
  const std::function<void(ValueId)> save = [&](ValueId id) {
    if (f.is_parameter(id) ||
        std::find(known.begin(), known.end(), id) != known.end()) {
      return;
    }
    const Node& node = f.node(f.value(id).node);
    // A node without operands gives the same each time, and is made again.
    if (node.inputs.empty()) return;
    // The bytes are those of its source, and the view is made again from these.
    if (node.op->has(kView)) return save(node.inputs[0]);
    found.insert(id);
  };
  const auto use = [&](ValueId id) {
    is_used[static_cast<std::size_t>(id)] = true;
    const NodeId producer = f.value(id).node;
    if (producer >= 0 && static_cast<std::size_t>(producer) < forward_nodes) {
      save(id);
    }
  };
  for (const ValueId id : f.results()) use(id);
  // The joint function begins with the nodes of the forward part, under the
  // same numbers; those behind are the gradient's.
  for (std::size_t i = f.nodes().size(); i-- > forward_nodes;) {
    const Node& node = f.nodes()[i];
    const bool is_live = std::any_of(
        node.outputs.begin(), node.outputs.end(),
        [&](ValueId id) { return is_used[static_cast<std::size_t>(id)]; });
    if (!is_live) continue;
    for (const ValueId id : node.inputs) use(id);
  }
  return {found.begin(), found.end()};
}

Function GradientSplit::backward(const std::vector<bool>& arrived) const {
  const Joint whole = joint(arrived);
  std::vector<ValueId> given = function_.parameters();
  const std::vector<ValueId> kept = differentiable();
  given.insert(given.end(), kept.begin(), kept.end());
  given.insert(given.end(), whole.seeds.begin(), whole.seeds.end());
  return extract(whole.function, whole.function.name(), given,
                 whole.function.results(), /*keep_host=*/false);
}

Graph backward_with_forward(const Graph& graph, std::size_t outputs,
                            const std::vector<bool>& wrt,
                            const std::vector<bool>& arrived) {
  WEFT_CHECK(arrived.size() == outputs);
  const Function& function = graph.functions.front();
  Program program(graph);
  FunctionBuilder builder(program,
                          program.unique_name(function.name() + ".backward"));
  const Function made = builder.build([&] {
    const auto parameters = add_parameters(builder, function);
    std::vector<Value> seeds;
    for (std::size_t i = 0; i < outputs; ++i) {
      // The backward function is called with the outputs as well, which this
      // one computes anew and does not read.
      builder.parameter(function.type(function.results()[i]));
    }
    for (std::size_t i = 0; i < outputs; ++i) {
      if (!arrived[i]) continue;
      seeds.push_back(builder.parameter(function.type(function.results()[i])));
    }
    const auto results = inlined_results(builder, function, parameters);
    std::vector<Value> roots;
    for (std::size_t i = 0; i < outputs; ++i) {
      if (arrived[i]) roots.push_back(results[i]);
    }
    std::vector<Value> wanted;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (wrt[i]) wanted.push_back(parameters[i]);
    }
    return gradients(builder, roots, seeds, wanted);
  });
  program.add(made);
  return inline_calls(program.build(), made.name());
}

}  // namespace weft
