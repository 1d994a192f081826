#include "weft/runtime/custom_gradient.h"

#include <algorithm>
#include <unordered_set>

#include "weft/graph/builder.h"
#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/constant.h"
#include "weft/ops/custom_gradient.h"
#include "weft/ops/support/closures.h"
#include "weft/runtime/eager.h"

namespace weft {
namespace {

const OpDef& custom_op() {
  static const OpDef& op = op_registry().get("custom_gradient");
  return op;
}

std::vector<Value> floating_of(const std::vector<Value>& values) {
  std::vector<Value> found;
  for (const Value& value : values) {
    if (is_floating(value.dtype())) found.push_back(value);
  }
  return found;
}

// The backward function's answer, held against the types of the arguments.
std::vector<Value> checked(std::vector<Value> gradients,
                           const std::vector<TensorType>& arguments) {
  if (gradients.size() != arguments.size()) {
    throw Error(ErrorCode::kInvalidArgument, "custom_gradient",
                "the backward function returns {} gradients for {} arguments",
                gradients.size(), arguments.size());
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    Value& gradient = gradients[i];
    if (!gradient.is_defined()) continue;
    if (!is_floating(arguments[i].dtype)) {
      gradient = Value();  // nothing flows to an integer
    } else if (gradient.type() != arguments[i]) {
      throw Error(ErrorCode::kInvalidArgument, "custom_gradient",
                  "the gradient of argument {} is {}, and the argument {}", i,
                  to_string(gradient.type()), to_string(arguments[i]));
    }
  }
  return gradients;
}

std::vector<Value> defined(const std::vector<Value>& values) {
  std::vector<Value> found;
  for (const Value& value : values) {
    if (value.is_defined()) found.push_back(value);
  }
  return found;
}

// --- In a function that is being built ------------------------------------

// The gradient does not exist yet: seeds stand for it, and are replaced when it
// arrives. There are none of integers.
std::vector<Value> seeds_of(const std::vector<Value>& results,
                            const std::vector<Value>& beside) {
  std::vector<Value> seeds(results.size());
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    if (is_floating(results[i].dtype())) {
      seeds[i] = seed_like(results[i], beside);
    }
  }
  return seeds;
}

// Whether all of `values` are among these, or the same wherever they are made.
bool is_among(const std::vector<Value>& values,
              std::initializer_list<std::span<const Value>> these,
              FunctionBuilder& builder) {
  std::unordered_set<ValueId> known;
  for (const auto part : these) {
    for (const Value& value : part) {
      if (value.is_defined()) known.insert(builder.id_of(value));
    }
  }
  return std::ranges::all_of(values, [&](const Value& value) {
    const ValueId id = builder.id_of(value);
    const NodeId maker = builder.function().value(id).node;
    return known.contains(id) ||
           (maker >= 0 && builder.function().node(maker).inputs.empty());
  });
}

std::vector<Value> staged(const std::vector<Value>& arguments,
                          const CustomForward& forward,
                          const CustomBackward& backward,
                          const Location& where) {
  WithSaved made = forward(arguments);
  CustomGradient custom{arguments, std::move(made.results), {}, {}};
  FunctionBuilder& builder = *current_context().builder();
  std::vector<Value> beside = arguments;
  beside.insert(beside.end(), custom.results.begin(), custom.results.end());
  beside.insert(beside.end(), made.saved.begin(), made.saved.end());
  const std::vector<Value> seeds = seeds_of(custom.results, beside);
  custom.seeds = defined(seeds);
  const std::size_t first = builder.function().nodes().size();
  custom.gradients = checked(backward(made.saved, seeds), types_of(arguments));
  // What the gradient reads beside these is known only now.
  const std::vector<Value> read = read_since(first);
  if (is_among(read, {beside, seeds}, builder)) {
    return with_gradient(custom, where);
  }
  beside.insert(beside.end(), read.begin(), read.end());
  const auto again = defined(seeds_of(custom.results, beside));
  const auto gradients = copied(defined(custom.gradients), custom.seeds, again);
  custom.seeds = again;
  std::size_t next = 0;
  for (Value& each : custom.gradients) {
    if (each.is_defined()) each = gradients[next++];
  }
  return with_gradient(custom, where);
}

// --- Where ops run at once ------------------------------------------------

// One application on the tapes: its outputs are the results, then what is
// saved.
class Recorded {
 public:
  Recorded(std::vector<Value> arguments, CustomForward forward,
           CustomBackward backward, std::size_t results,
           std::vector<Value> outputs)
      : arguments_(std::move(arguments)),
        forward_(std::move(forward)),
        backward_(std::move(backward)),
        results_(results),
        outputs_(std::move(outputs)) {}

  Gradients operator()(std::span<const Value> arrived) const {
    Gradients found(arguments_.size());
    std::vector<Value> of_results, of_saved;
    bool to_results = false;
    bool to_saved = false;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const bool is_result = i < results_;
      Value gradient = arrived[i];
      if (gradient.is_defined()) (is_result ? to_results : to_saved) = true;
      if (!gradient.is_defined() && is_floating(outputs_[i].dtype())) {
        gradient = zeros_like(outputs_[i]);
      }
      (is_result ? of_results : of_saved).push_back(gradient);
    }
    const auto middle =
        outputs_.begin() + static_cast<std::ptrdiff_t>(results_);
    if (to_results) {
      // Only the caller's function is asked where something flows to the
      // results: its answer for zeros would be zeros.
      found = checked(backward_({middle, outputs_.end()}, of_results),
                      types_of(arguments_));
    }
    if (to_saved) add(through_forward(of_saved), found);
    return found;
  }

 private:
  // What flows to what was saved: the forward function, once more, by the rules
  // of its ops.
  std::vector<Value> through_forward(const std::vector<Value>& of_saved) const {
    Tape tape;
    std::vector<Value> again = arguments_;
    for (Value& value : again) {
      if (is_floating(value.dtype())) value = tape.argument(value);
    }
    const std::vector<Value> saved = forward_(again).saved;
    return tape.gradient(floating_of(saved), defined(of_saved),
                         floating_of(again));
  }

  void add(const std::vector<Value>& more, Gradients& found) const {
    for (std::size_t i = 0, next = 0; i < arguments_.size(); ++i) {
      if (!is_floating(arguments_[i].dtype())) continue;
      const Value& gradient = more[next++];
      found[i] = found[i].is_defined() ? found[i] + gradient : gradient;
    }
  }

  std::vector<Value> arguments_;
  CustomForward forward_;
  CustomBackward backward_;
  std::size_t results_;
  std::vector<Value> outputs_;
};

std::vector<Value> eager(const std::vector<Value>& arguments,
                         const CustomForward& forward,
                         const CustomBackward& backward) {
  std::vector<const Value*> pointers;
  for (const Value& argument : arguments) pointers.push_back(&argument);
  // Without a tape nothing is saved, and the backward function is never asked.
  if (Tape::count_watching(pointers) == 0) return forward(arguments).results;
  WithSaved made;
  {
    // The tapes see one application, and not what it is made of.
    const Tape::Silence silence;
    made = forward(arguments);
  }
  std::vector<Value> outputs;
  for (const auto* part : {&made.results, &made.saved}) {
    for (const Value& value : *part) {
      // New numbers keep the tapes from going on into the ops that made these.
      outputs.emplace_back(value.tensor(), Value::fresh_id());
    }
  }
  const std::size_t results = made.results.size();
  Tape::record_on_all(
      {&custom_op(),
       {},
       arguments,
       outputs,
       Recorded(arguments, forward, backward, results, outputs)});
  outputs.resize(results);
  return outputs;
}

}  // namespace

std::vector<Value> custom_gradient(const std::vector<Value>& arguments,
                                   const CustomForward& forward,
                                   const CustomBackward& backward,
                                   const Location& where) {
  return current_context().builder() != nullptr
             ? staged(arguments, forward, backward, where)
             : eager(arguments, forward, backward);
}

}  // namespace weft
