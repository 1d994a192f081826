#include "weft/compiler/frozen_rules.h"

#include <algorithm>

#include "weft/base/index.h"
#include "weft/compiler/frozen.h"
#include "weft/compiler/rule.h"
#include "weft/graph/known_ops.h"

namespace weft {
namespace {

// Whether what the nodes of a match read from outside never changes, but for
// the first operand of the pattern.
class NeverChanges {
 public:
  NeverChanges(const Function& function, const std::vector<bool>& is_frozen)
      : function_(function), frozen_(frozen_values(function, is_frozen)) {}

  bool operator()(const Match& match) const {
    return std::ranges::all_of(match.nodes, [&](NodeId id) {
      return std::ranges::all_of(function_.node(id).inputs, [&](ValueId input) {
        return input == match.outside.front() || is_known(input) ||
               std::ranges::count(match.nodes, function_.value(input).node) > 0;
      });
    });
  }

 private:
  bool is_known(ValueId id) const {
    return frozen_[at(id)] ||
           (!function_.is_parameter(id) &&
            *function_.node(function_.value(id).node).op == known::constant);
  }

  const Function& function_;
  std::vector<bool> frozen_;  // by value
};

}  // namespace

Function apply_frozen_rules(Function function,
                            const std::vector<bool>& is_frozen,
                            const std::vector<std::string>& without) {
  std::vector<const RuleDef*> rules;
  for (const RuleDef& rule : rule_registry().all()) {
    if (rule.pays_if_frozen && std::ranges::count(without, rule.name) == 0) {
      rules.push_back(&rule);
    }
  }
  // One rule makes room for another: a bias that is fused lets a scale behind
  // it be folded.
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (const RuleDef* rule : rules) {
      std::optional<Function> next =
          apply_to_all(function, *rule, NeverChanges(function, is_frozen));
      if (!next) continue;
      function = *std::move(next);
      is_changed = true;
    }
  }
  return function;
}

}  // namespace weft
