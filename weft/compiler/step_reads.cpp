#include "weft/compiler/step_reads.h"

#include <map>
#include <set>

#include "weft/base/error.h"

namespace weft {
namespace {

// Where the bytes of a value come from.
struct Origin {
  std::set<std::size_t> arguments;
  std::set<std::size_t> steps;

  void add(const Origin& other) {
    arguments.insert(other.arguments.begin(), other.arguments.end());
    steps.insert(other.steps.begin(), other.steps.end());
  }
};

class Origins {
 public:
  Origins(const Function& function, std::span<const PlanStep> steps)
      : function_(function) {
    for (std::size_t i = 0; i < function.parameters().size(); ++i) {
      known_[function.parameters()[i]].arguments.insert(i);
    }
    for (std::size_t s = 0; s < steps.size(); ++s) {
      for (const ValueId id : steps[s].outputs) known_[id].steps.insert(s);
    }
  }

  // What no step writes is a constant, a view, or parts that lie side by side:
  // its bytes are those of its operands.
  const Origin& of(ValueId id) {
    const ValueId whole = storage_of(function_, id);
    const auto found = known_.find(whole);
    if (found != known_.end()) return found->second;
    Origin origin = of_all(function_.node(function_.value(whole).node).inputs);
    return known_[whole] = std::move(origin);
  }

  Origin of_all(std::span<const ValueId> ids) {
    Origin origin;
    for (const ValueId id : ids) origin.add(of(id));
    return origin;
  }

 private:
  const Function& function_;
  std::map<ValueId, Origin> known_;
};

}  // namespace

std::vector<StepReads> reads_of(const Function& function,
                                std::span<const PlanStep> steps) {
  Origins origins(function, steps);
  std::vector<StepReads> reads;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    // A step that puts the rest of a value in its place ends that value, whose
    // other parts are there by then.
    const Origin origin = origins.of_all(
        steps[s].copies.empty() ? steps[s].inputs
                                : function.node(steps[s].nodes.back()).inputs);
    WEFT_CHECK(origin.steps.empty() || *origin.steps.rbegin() < s,
               "steps come in an order in which they can run");
    reads.push_back({{origin.arguments.begin(), origin.arguments.end()},
                     {origin.steps.begin(), origin.steps.end()}});
  }
  return reads;
}

}  // namespace weft
