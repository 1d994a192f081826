#include "weft/graph/phases.h"

#include <algorithm>
#include <numeric>

#include "weft/graph/known_ops.h"

namespace weft {
namespace {

std::size_t sum_of_first(const Integers& counts, std::size_t phases) {
  const auto end = counts.begin() + static_cast<std::ptrdiff_t>(phases);
  return static_cast<std::size_t>(
      std::accumulate(counts.begin(), end, std::int64_t{0}));
}

// Whether the counts share out `total` things.
bool adds_up(const Integers& counts, std::size_t total) {
  auto left = static_cast<std::int64_t>(total);
  for (const std::int64_t count : counts) {
    // Counts may come from a file; added up first, they could overflow.
    if (count < 0 || count > left) return false;
    left -= count;
  }
  return left == 0;
}

}  // namespace

bool leaves_activation(const OpDef& op) {
  return op == known::call_enter || op == known::cond_enter;
}

bool enters_again(const OpDef& op) {
  return op == known::call_reenter || op == known::cond_reenter;
}

bool is_branch(const OpDef& op) {
  return op == known::cond || op == known::cond_enter ||
         op == known::cond_reenter;
}

Phases Phases::whole(const Signature& signature) {
  return {{static_cast<std::int64_t>(signature.parameters.size())},
          {static_cast<std::int64_t>(signature.results.size())}};
}

Phases Phases::of(const Attributes& attributes) {
  return {attributes.integers("arguments"), attributes.integers("results")};
}

void Phases::require_fit(const OpCall& call,
                         const FunctionRef& function) const {
  // One phase is a plain call, which needs no enter.
  if (function.signature == nullptr || arguments.size() < 2 ||
      arguments.size() != results.size() ||
      !adds_up(arguments, function.signature->parameters.size()) ||
      !adds_up(results, function.signature->results.size())) {
    throw call.error("these are no phases of {}", to_string(function));
  }
}

std::size_t Phases::first_argument(std::size_t phase) const {
  return sum_of_first(arguments, phase);
}

std::size_t Phases::first_result(std::size_t phase) const {
  return sum_of_first(results, phase);
}

std::vector<std::size_t> Phases::of_values(const Function& function) const {
  // What depends on no parameter is known in the first phase.
  std::vector<std::size_t> phases(function.value_count(), 0);
  const auto at = [&](ValueId id) -> std::size_t& {
    return phases[static_cast<std::size_t>(id)];
  };
  for (std::size_t phase = 0; phase < count(); ++phase) {
    for (std::size_t i = first_argument(phase); i < first_argument(phase + 1);
         ++i) {
      at(function.parameters()[i]) = phase;
    }
  }
  for (const Node& node : function.nodes()) {
    std::size_t phase = 0;
    // A node can run when the latest of its operands is there.
    for (const ValueId id : node.inputs) phase = std::max(phase, at(id));
    for (const ValueId id : node.outputs) at(id) = phase;
  }
  return phases;
}

}  // namespace weft
