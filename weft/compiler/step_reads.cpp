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
    const auto found = known_.find(id);
    if (found != known_.end()) return found->second;
    Origin origin;
    for (const ValueId input :
         function_.node(function_.value(id).node).inputs) {
      origin.add(of(input));
    }
    return known_[id] = std::move(origin);
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
    Origin origin;
    for (const ValueId id : steps[s].inputs) origin.add(origins.of(id));
    // A step that puts the rest of a value in its place reads its other parts
    // nowhere.
    origin.steps.erase(s);
    WEFT_CHECK(origin.steps.empty() || *origin.steps.rbegin() < s,
               "steps come in an order in which they can run");
    reads.push_back({{origin.arguments.begin(), origin.arguments.end()},
                     {origin.steps.begin(), origin.steps.end()}});
  }
  return reads;
}

}  // namespace weft
