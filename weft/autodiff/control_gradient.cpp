#include "weft/autodiff/control_gradient.h"

#include "weft/graph/known_ops.h"
#include "weft/ops/constant.h"
#include "weft/ops/support/recursion.h"

namespace weft {
namespace {

// Operands before the arguments: an activation, a predicate.
std::size_t leading_operands(const OpDef& op) {
  return (enters_again(op) ? 1u : 0u) + (is_branch(op) ? 1u : 0u);
}

std::size_t phase_of(const Node& node) {
  if (!enters_again(*node.op)) return 0;
  return static_cast<std::size_t>(node.attributes.integer("phase"));
}

std::vector<FunctionRef> functions_of(Program& program, const Node& node) {
  const Attributes& attributes = node.attributes;
  if (is_loop(*node.op)) return {recursive_form(program, *node.op, attributes)};
  if (is_branch(*node.op)) {
    return {attributes.function("then"), attributes.function("otherwise")};
  }
  return {attributes.function("function")};
}

const OpDef& op_of_phase(bool is_branch, std::size_t phase) {
  if (is_branch) {
    return phase == 0 ? known::cond_enter.get() : known::cond_reenter.get();
  }
  return phase == 0 ? known::call_enter.get() : known::call_reenter.get();
}

Attributes attributes_of_phase(const std::vector<FunctionRef>& functions,
                               const Phases& phases, std::size_t phase) {
  Attributes attributes{{"arguments", phases.arguments},
                        {"results", phases.results}};
  if (functions.size() == 2) {
    attributes.set("then", functions[0]);
    attributes.set("otherwise", functions[1]);
  } else {
    attributes.set("function", functions[0]);
  }
  // An enter is always the first phase.
  if (phase > 0) attributes.set("phase", static_cast<std::int64_t>(phase));
  return attributes;
}

}  // namespace

ControlGradient::ControlGradient(FunctionBuilder& builder) : builder_(builder) {
  const auto& nodes = builder.function().nodes();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (enters_again(*nodes[i].op)) {
      // An activation is read by one re-entry alone, so this finds the next
      // node of a chain.
      reentries_[nodes[i].inputs[0]] = static_cast<NodeId>(i);
    }
  }
}

ControlGradient::Chain& ControlGradient::chain_of(NodeId node) {
  const Function& function = builder_.function();
  while (enters_again(*function.node(node).op)) {
    node = function.value(function.node(node).inputs[0]).node;
    if (node >= 0) continue;
    throw Error(ErrorCode::kUnsupported, "gradient",
                "an activation of another function is entered");
  }
  const auto known = chains_.find(node);
  return known != chains_.end()
             ? known->second
             : chains_.emplace(node, start(node)).first->second;
}

ControlGradient::Chain ControlGradient::start(NodeId enter) {
  const Node& first = builder_.function().node(enter);
  Chain chain;
  const bool is_plain = !leaves_activation(*first.op);
  for (const FunctionRef& function : functions_of(builder_.program(), first)) {
    const Phases primal = is_plain ? Phases::whole(*function.signature)
                                   : Phases::of(first.attributes);
    const PhasedFunction joint =
        joint_of(builder_.program(), {function, primal});
    chain.functions.push_back(joint.function);
    chain.phases = joint.phases;
    chain.primal_phases = primal.count();
  }
  if (is_branch(*first.op)) chain.predicate = {builder_, first.inputs[0]};
  for (NodeId node = enter;;) {
    chain.nodes.push_back(node);
    const std::size_t phase = chain.nodes.size();
    if (is_plain || phase == chain.primal_phases) break;
    const auto next =
        reentries_.find(builder_.function().node(node).outputs.back());
    // A later phase that nobody needed has been dropped from the function.
    if (next == reentries_.end()) break;
    node = next->second;
  }
  // The nodes stay where they are and keep their results; they now run the
  // joint, which returns an activation besides.
  for (std::size_t phase = 0; phase < chain.nodes.size(); ++phase) {
    replace(chain, phase);
  }
  // Phases whose results nobody used have been dropped.
  while (chain.next_phase < chain.primal_phases) skip_next(chain);
  return chain;
}

void ControlGradient::replace(Chain& chain, std::size_t phase) {
  const NodeId id = chain.nodes[phase];
  const OpDef& op = op_of_phase(chain.predicate.is_defined(), phase);
  builder_.replace(id, op,
                   attributes_of_phase(chain.functions, chain.phases, phase));
  const Node& node = builder_.function().node(id);
  chain.activation = {builder_, node.outputs.back()};
  // A re-entry is given the arguments of all phases so far, so the last one has
  // them all.
  chain.arguments.clear();
  for (std::size_t i = leading_operands(op); i < node.inputs.size(); ++i) {
    chain.arguments.emplace_back(builder_, node.inputs[i]);
  }
  chain.next_phase = phase + 1;
}

std::vector<Value> ControlGradient::enter_next(Chain& chain,
                                               std::vector<Value> arguments) {
  const std::size_t phase = chain.next_phase++;
  const auto& parameters = chain.functions[0].signature->parameters;
  // The first phase's arguments tell all sizes.
  const std::size_t told = chain.phases.first_argument(1);
  const auto count = static_cast<std::ptrdiff_t>(told);
  std::vector<TensorType> types;
  for (std::size_t i = 0; i < told; ++i) {
    types.push_back(chain.arguments[i].type());
  }
  const Signature first{{parameters.begin(), parameters.begin() + count}, {}};
  const Bindings bindings = bind_call(
      {chain.functions[0].name, std::make_shared<Signature>(first)}, types);
  for (Value& argument : arguments) {
    const TensorType& type = parameters[chain.arguments.size()];
    // No gradient arrived there: zeros stand for it.
    if (!argument.is_defined()) {
      argument = full({type.dtype, substitute(type.shape, bindings)}, 0);
    }
    chain.arguments.push_back(argument);
  }
  std::vector<Value> operands{chain.activation};
  const bool is_branch = chain.predicate.is_defined();
  if (is_branch) operands.push_back(chain.predicate);
  operands.insert(operands.end(), chain.arguments.begin(),
                  chain.arguments.end());
  auto results = call_all(
      op_of_phase(is_branch, phase), operands,
      attributes_of_phase(chain.functions, chain.phases, phase), Location());
  if (chain.next_phase < chain.phases.count()) {
    chain.activation = results.back();
    results.pop_back();
  }
  return results;
}

std::vector<Value> ControlGradient::skip_next(Chain& chain) {
  const auto count = chain.phases.arguments[chain.next_phase];
  return enter_next(chain, std::vector<Value>(static_cast<std::size_t>(count)));
}

Gradients ControlGradient::operator()(const GradientContext& g) {
  const NodeId id =
      builder_.function().value(static_cast<ValueId>(g.y().id())).node;
  const std::size_t phase = phase_of(builder_.function().node(id));
  Chain& chain = chain_of(id);
  // Phase n + i of the joint is the adjoint of phase n - 1 - i
  // (graph/phases.h).
  const std::size_t adjoint = 2 * chain.primal_phases - 1 - phase;
  // Phases run in order. One that no gradient asked for is entered with zeros,
  // for the sake of those after it.
  while (chain.next_phase < adjoint) skip_next(chain);

  const auto& [parameters, results] = *chain.functions[0].signature;
  const Phases& phases = chain.phases;
  const std::size_t first_result = phases.first_result(phase);
  std::vector<Value> dy;
  for (const std::size_t i :
       differentiable(results, first_result,
                      static_cast<std::size_t>(phases.results[phase]))) {
    dy.push_back(g.dy(i - first_result));
  }
  const std::vector<Value> dx = enter_next(chain, std::move(dy));

  Gradients gradients(g.input_count());
  const Node& node = builder_.function().node(id);
  const std::size_t leading = leading_operands(*node.op);
  const auto targets =
      differentiable(parameters, phases.first_argument(phase),
                     static_cast<std::size_t>(phases.arguments[phase]));
  for (std::size_t i = 0; i < targets.size(); ++i) {
    gradients[leading + targets[i]] = dx[i];
  }
  // What earlier phases owe to this one comes to them through the activation,
  // so the walk must go on to them.
  if (enters_again(*node.op)) gradients[0] = chain.activation;
  return gradients;
}

}  // namespace weft
