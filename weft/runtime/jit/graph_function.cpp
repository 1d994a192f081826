#include "weft/runtime/jit/graph_function.h"

#include <algorithm>
#include <optional>

#include "weft/compiler/inline_calls.h"
#include "weft/compiler/steps.h"
#include "weft/graph/registry.h"
#include "weft/ops/control.h"
#include "weft/runtime/jit/gradient_split.h"
#include "weft/runtime/jit/kept_call.h"

namespace weft {
namespace {

// True if a result of `function` is the parameter itself, or a view of it.
bool is_returned(const Function& function, ValueId parameter) {
  return std::any_of(
      function.results().begin(), function.results().end(),
      [&](ValueId id) { return storage_of(function, id) == parameter; });
}

}  // namespace

// Forward and backward functions for one choice of watched inputs.
class GraphFunction::Derivative {
 public:
  Derivative(const GraphFunction& of, std::vector<bool> wrt, std::size_t order)
      : of_(of.executables_),
        outputs_(of.result_count()),
        options_(of.options_) {
    // What goes backward has other parameters, and is no matter of serving.
    options_.frozen.clear();
    if (has_control(of_->function())) {
      forward_ = of_;
      wrt_ = std::move(wrt);
      options_.donated.clear();
      TaggedOptions tagged = options_.tagged;
      tagged.fuse = tagged.fuse && options_.fuse;
      tagged.check_numerics = tagged.check_numerics || options_.check_numerics;
      const auto keep = [&](std::size_t orders) {
        kept_ = std::make_shared<KeptRuns>(of_->graph(), outputs_, wrt_, orders,
                                           tagged);
      };
      if (order == 1) {
        keep(1);
        return;
      }
      try {
        keep(2);
      } catch (const Error& error) {
        // The outer tape may not ask for what there is no rule for.
        if (error.code() != ErrorCode::kUnsupported) throw;
        keep(1);
      }
      return;
    }
    split_.emplace(of_->function(), outputs_, std::move(wrt), order);
    forward_ =
        std::make_shared<ExecutablePool>(Graph{{split_->forward()}}, options_);
    options_.donated.clear();  // the backward function assigns nothing
  }

  // (inputs) -> (results, saved).
  ExecutablePool& forward() const { return *forward_; }
  std::size_t saved_count() const { return split_ ? split_->saved_count() : 0; }
  // Or runs that are kept until they go backward; null if there are none.
  KeptRuns* kept() const { return kept_.get(); }

  // The gradients of the inputs in `wrt`, from what was kept: inputs, outputs,
  // saved.
  std::vector<Value> run_backward(std::span<const Value> kept,
                                  std::span<const Value> arrived) {
    std::vector<bool> has_arrived;
    std::vector<Value> arguments(kept.begin(), kept.end());
    for (const Value& gradient : arrived) {
      // There is one backward function for each set of gradients that arrive.
      has_arrived.push_back(gradient.is_defined());
      if (gradient.is_defined()) arguments.push_back(gradient);
    }
    return backward(has_arrived)->call(arguments);
  }

 private:
  // (inputs, outputs, saved, gradients that arrived) -> gradients.
  GraphFunctionRef backward(const std::vector<bool>& arrived) {
    const std::lock_guard lock(mutex_);
    GraphFunctionRef& known = backwards_[arrived];
    if (known == nullptr) {
      Graph graph =
          split_ ? Graph{{split_->backward(arrived)}}
                 : backward_with_forward(of_->graph(), outputs_, wrt_, arrived);
      std::string name = graph.functions.front().name();
      // The backward function is a staged function itself, so that it can be
      // called under a tape and differentiated again.
      known = std::make_shared<GraphFunction>(std::move(graph), std::move(name),
                                              std::vector<Hidden>(), options_);
    }
    return known;
  }

  std::shared_ptr<ExecutablePool> of_;
  std::size_t outputs_;
  ExecutableOptions options_;
  std::shared_ptr<ExecutablePool> forward_;
  std::optional<GradientSplit> split_;  // without control flow
  std::vector<bool> wrt_;               // with it
  std::shared_ptr<KeptRuns> kept_;      // with it, under one tape
  std::mutex mutex_;                    // guards backwards_
  std::map<std::vector<bool>, GraphFunctionRef> backwards_;
};

GraphFunction::GraphFunction(Graph graph, std::string entry,
                             std::vector<Hidden> hidden,
                             ExecutableOptions options,
                             Dependencies dependencies)
    : graph_(std::move(graph)),
      entry_(std::move(entry)),
      hidden_(std::move(hidden)),
      argument_count_(function().parameters().size() - hidden_.size()),
      result_count_(function().results().size() -
                    static_cast<std::size_t>(std::count_if(
                        hidden_.begin(), hidden_.end(),
                        [](const Hidden& each) { return each.is_assigned; }))),
      options_(std::move(options)),
      dependencies_(std::move(dependencies)) {
  // Calls are expanded for running only. The graph itself keeps them, as a
  // caller that is traced takes over the functions as they are.
  Graph inlined = inline_calls(graph_, entry_);
  const Function& function = inlined.functions.front();
  for (std::size_t i = 0; i < hidden_.size(); ++i) {
    if (!hidden_[i].is_assigned) continue;
    const std::size_t input = argument_count() + i;
    const ValueId parameter = function.parameters()[input];
    assigned_.push_back({i, input, result_count() + assigned_.size(),
                         !is_returned(function, parameter)});
    const Assigned& each = assigned_.back();
    // A training step then updates its parameters without a second copy of
    // them.
    if (each.is_in_place) {
      options_.donated.emplace_back(each.input, each.result);
    }
  }
  executables_ = std::make_shared<ExecutablePool>(std::move(inlined), options_);
}

GraphFunction::~GraphFunction() = default;

bool GraphFunction::has_open_captures() const {
  return std::none_of(hidden_.begin(), hidden_.end(), [](const Hidden& each) {
    return each.value.is_closed();
  });
}

std::vector<Value> GraphFunction::with_hidden(
    std::span<const Value> arguments) const {
  WEFT_CHECK(arguments.size() == argument_count());
  std::vector<Value> inputs(arguments.begin(), arguments.end());
  inputs.reserve(arguments.size() + hidden_.size());
  for (const Hidden& each : hidden_) inputs.push_back(each.current(entry_));
  return inputs;
}

bool GraphFunction::fits(std::span<const Value> arguments) const {
  const Function& function = executables_->function();
  Bindings bindings;
  try {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const Shape& wanted = function.type(function.parameters()[i]).shape;
      if (!match(wanted, arguments[i].shape(), bindings)) return false;
    }
    if (bindings.size() > 0) specialize(function, bindings);
  } catch (const Error&) {
    return false;
  }
  return true;
}

std::vector<Value> GraphFunction::call(std::span<const Value> arguments) {
  std::vector<Value> inputs = with_hidden(arguments);
  // Inside of another trace nothing runs; the call becomes a node there.
  if (FunctionBuilder* builder = current_context().builder()) {
    return call_in(*builder, std::move(inputs));
  }
  if (Tape::innermost() == nullptr) {
    return run(*executables_, std::move(inputs));
  }
  std::vector<const Value*> pointers;
  for (Value& input : inputs) {
    // An argument without a number may have the bytes of a value that a tape
    // watches.
    if (input.id() < 0) input = Tape::recognise(input);
    pointers.push_back(&input);
  }
  const std::size_t tapes = Tape::count_watching(pointers);
  return tapes == 0 ? run(*executables_, std::move(inputs))
                    : call_recorded(std::move(inputs), tapes);
}

void GraphFunction::prepare(std::span<const Value> arguments,
                            std::size_t copies) {
  std::vector<Tensor> inputs;
  for (const Value& input : with_hidden(arguments)) {
    inputs.push_back(input.tensor());
  }
  // A run may overwrite these, and the variables keep what they have.
  for (const Assigned& each : assigned_) {
    inputs[each.input] = inputs[each.input].clone();
  }
  executables_->prepare(inputs, copies);
}

// One call node. What the callee depends on, the caller does. The callee and
// what it calls become functions of the caller's program.
std::vector<Value> GraphFunction::call_in(FunctionBuilder& builder,
                                          std::vector<Value> inputs) {
  for (const ModeReading& reading : dependencies_.modes) {
    builder.depend_on(reading);
  }
  if (dependencies_.layer) builder.depend_on_layer();
  // A function that is called twice is added once.
  add_missing(builder.program(), graph_.functions);
  std::vector<Value> results = weft::call(reference_to(function()), inputs);
  std::size_t next = result_count();
  for (const Hidden& each : hidden_) {
    if (!each.is_assigned) continue;
    current_context().assign(each.living(entry_), results[next++]);
  }
  results.resize(result_count());
  return results;
}

// While it lives, values that a run overwrites are taken out of their
// variables; a run that fails leaves them there again.
class GraphFunction::Assignment {
 public:
  explicit Assignment(std::vector<Tensor>& arguments) : arguments_(arguments) {}

  // This may fail in the middle, where there is no memory for a copy.
  void take(const GraphFunction& function) {
    for (const Assigned& each : function.assigned_) {
      taken_.push_back(
          {function.hidden_[each.hidden].living(function.entry_), each});
      if (!each.is_in_place) continue;
      Tensor& value = taken_.back().variable->value;
      Tensor& argument = arguments_[each.input];
      // The copy among the arguments goes first, or the variable would never
      // own its memory alone.
      argument = Tensor();
      // What was read before keeps its value.
      argument = value.owns_uniquely() ? std::move(value) : value.clone();
    }
  }

  // Here the run has failed, and may have written over a part of the memory.
  // The variable gets it back all the same: one without a value cannot be read.
  ~Assignment() {
    for (const auto& [variable, assigned] : taken_) {
      // Only what was taken away is given back.
      if (variable->value.is_defined()) continue;
      variable->value = std::move(arguments_[assigned.input]);
    }
  }
  Assignment(const Assignment&) = delete;
  Assignment& operator=(const Assignment&) = delete;

  // The run has succeeded.
  void finish(const std::vector<Tensor>& results) {
    for (const auto& [variable, assigned] : taken_) {
      variable->value = results[assigned.result];
    }
    taken_.clear();
  }

 private:
  struct Taken {
    VariableRef variable;
    Assigned assigned;
  };

  std::vector<Tensor>& arguments_;
  std::vector<Taken> taken_;
};

// Results, then what else the function returns beside assigned values.
std::vector<Value> GraphFunction::run(ExecutablePool& executables,
                                      std::vector<Value> inputs) const {
  std::vector<Tensor> arguments;
  arguments.reserve(inputs.size());
  for (const Value& input : inputs) arguments.push_back(input.tensor());
  inputs.clear();  // so that only variables hold what they own
  Assignment assignment(arguments);
  assignment.take(*this);
  std::vector<Tensor> results = executables.run(arguments);
  assignment.finish(results);
  std::vector<Value> values;
  values.reserve(results.size());
  const std::size_t end = result_count() + assigned_.size();
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (i >= result_count() && i < end) continue;
    values.emplace_back(std::move(results[i]));
  }
  return values;
}

std::shared_ptr<GraphFunction::Derivative> GraphFunction::derivative(
    const std::vector<bool>& wrt, std::size_t order) {
  const std::lock_guard lock(mutex_);
  auto& known = derivatives_[{wrt, order}];
  if (known == nullptr) known = std::make_shared<Derivative>(*this, wrt, order);
  return known;
}

std::size_t GraphFunction::saved_count(const std::vector<bool>& wrt) {
  return derivative(wrt, 1)->saved_count();
}

// Runs the forward function, and puts one application on the tapes whose
// backward is one call of the backward function.
std::vector<Value> GraphFunction::call_recorded(std::vector<Value> inputs,
                                                std::size_t tapes) {
  static const OpDef& op = op_registry().get("call");
  std::vector<bool> wrt;
  for (const Value& input : inputs) {
    const Value* pointer = &input;
    wrt.push_back(is_floating(input.dtype()) &&
                  Tape::count_watching({&pointer, 1}) > 0);
  }
  const auto derived = derivative(wrt, tapes);
  if (derived->kept() != nullptr) {
    return call_kept(derived, std::move(inputs), wrt);
  }
  std::vector<Value> outputs = run(derived->forward(), inputs);
  for (Value& output : outputs) {
    // What is kept for the backward run is an output as well: a tape around
    // this one must see that gradients flow to it.
    output = Value(output.tensor(), Value::fresh_id());
  }
  std::vector<Value> kept = inputs;
  kept.insert(kept.end(), outputs.begin(), outputs.end());
  // The tape owns what the backward run reads, and lets it go when it has
  // walked past this application.
  const auto backward = [derived, kept, wrt](std::span<const Value> arrived) {
    return spread(derived->run_backward(kept, arrived), wrt);
  };
  Tape::record_on_all({&op, {}, std::move(inputs), outputs, backward});
  outputs.resize(result_count());
  return outputs;
}

// The same for a function that branches, loops or calls itself: its run is kept
// by the tapes.
std::vector<Value> GraphFunction::call_kept(
    const std::shared_ptr<Derivative>& derived, std::vector<Value> inputs,
    const std::vector<bool>& wrt) {
  std::vector<Tensor> arguments;
  for (const Value& input : inputs) arguments.push_back(input.tensor());
  auto run = derived->kept()->forward(arguments);
  // The backward run reads old values, so assigned ones have other memory.
  for (const Assigned& each : assigned_) {
    hidden_[each.hidden].living(entry_)->value = run->results()[each.result];
  }
  return std::make_shared<KeptCall>(std::move(run), std::move(inputs), wrt,
                                    [derived](std::span<const Value> kept,
                                              std::span<const Value> arrived) {
                                      return derived->run_backward(kept,
                                                                   arrived);
                                    })
      ->record(result_count());
}

}  // namespace weft
