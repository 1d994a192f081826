#include "weft/autodiff/reverse.h"

#include <algorithm>
#include <unordered_set>

#include "weft/graph/gradient.h"
#include "weft/ops/arithmetic.h"

namespace weft {
namespace {

class Accumulator {
 public:
  void add(const Value& target, const Value& gradient) {
    Value& sum = gradients_[target.id()];
    // Adding is an op as well, so gradients of gradients see it.
    sum = sum.is_defined() ? sum + gradient : gradient;
  }
  Value find(const Value& value) const {
    const auto found = gradients_.find(value.id());
    return found == gradients_.end() ? Value() : found->second;
  }

 private:
  std::unordered_map<std::int64_t, Value> gradients_;
};

// The values on some path from `wrt`: only they need a gradient.
std::unordered_set<std::int64_t> reached_from(
    std::span<const Value> wrt, std::span<const Application> applications) {
  std::unordered_set<std::int64_t> reached;
  for (const Value& value : wrt) reached.insert(value.id());
  for (const Application& application : applications) {
    // Applications stand in the order in which they ran: one pass finds all.
    for (const Value& input : application.inputs) {
      if (!reached.contains(input.id())) continue;
      for (const Value& output : application.outputs) {
        reached.insert(output.id());
      }
      break;
    }
  }
  return reached;
}

// A constant operand has no id; it must not match an undefined one.
bool is_traced(const Value& value) { return value.id() >= 0; }

void step_back(const Application& application,
               const std::unordered_set<std::int64_t>& reached,
               const ControlRule& control, Accumulator& gradients) {
  const OpDef& op = *application.op;
  if (op.has(kNoGradient)) return;
  std::vector<Value> dy;
  bool any = false;
  for (const Value& output : application.outputs) {
    dy.push_back(gradients.find(output));
    any = any || dy.back().is_defined();
  }
  // Only what lies on a path from `wrt` to a root takes part: an op elsewhere
  // may have no gradient, and need not have one.
  if (!any || !reached.contains(application.outputs[0].id())) return;
  const bool is_control = op.has(kControl) && control;
  if (op.gradient() == nullptr && !is_control && !application.backward) {
    throw Error(ErrorCode::kUnsupported, op.name(),
                "has no gradient, and one was asked for");
  }
  const GradientContext context(op, application.attributes, application.inputs,
                                application.outputs, dy);
  // A staged call brings its own backward function; control flow is for the
  // walk, which knows the function around it; everything else has a rule.
  const Gradients result = application.backward ? application.backward(dy)
                           : is_control         ? control(context)
                                                : op.gradient()(context);
  WEFT_CHECK(result.size() == application.inputs.size(),
             "{}: the gradient rule returns {} values for {} operands",
             op.name(), result.size(), application.inputs.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    const Value& input = application.inputs[i];
    if (!result[i].is_defined() || !is_traced(input)) continue;
    if (!reached.contains(input.id())) continue;
    WEFT_CHECK(result[i].type() == input.type(),
               "{}: the gradient of operand {} is {}, but it is {}", op.name(),
               op.input_name(i), to_string(result[i].type()),
               to_string(input.type()));
    gradients.add(input, result[i]);
  }
}

// Collects the gradients of `wrt`; `walk` steps back over all applications.
template <class Walk>
std::vector<Value> collect(std::span<const Application> applications,
                           std::span<const Value> roots,
                           std::span<const Value> seeds,
                           std::span<const Value> wrt,
                           const ControlRule& control, Walk&& walk) {
  WEFT_CHECK(roots.size() == seeds.size());
  Accumulator gradients;
  for (std::size_t i = 0; i < roots.size(); ++i) {
    if (is_traced(roots[i])) gradients.add(roots[i], seeds[i]);
  }
  const auto reached = reached_from(wrt, applications);
  walk([&](const Application& application) {
    step_back(application, reached, control, gradients);
  });
  std::vector<Value> result;
  for (const Value& value : wrt) result.push_back(gradients.find(value));
  return result;
}

}  // namespace

std::vector<Value> reverse(std::span<const Application> applications,
                           std::span<const Value> roots,
                           std::span<const Value> seeds,
                           std::span<const Value> wrt,
                           const ControlRule& control) {
  return collect(applications, roots, seeds, wrt, control, [&](auto&& step) {
    std::for_each(applications.rbegin(), applications.rend(), step);
  });
}

std::vector<Value> reverse(std::vector<Application>&& applications,
                           std::span<const Value> roots,
                           std::span<const Value> seeds,
                           std::span<const Value> wrt) {
  return collect(applications, roots, seeds, wrt, nullptr, [&](auto&& step) {
    // Each application is dropped when it has been walked over, and with it the
    // values that only it kept.
    for (; !applications.empty(); applications.pop_back()) {
      step(applications.back());
    }
  });
}

}  // namespace weft
