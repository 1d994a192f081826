#include "weft/compiler/replacement.h"

#include <algorithm>
#include <queue>

#include "weft/compiler/dead_nodes.h"
#include "weft/graph/inlining.h"

namespace weft {
namespace {

// Units are what is emitted at once: a node that stays, by its number, or a
// replacement, by its place behind them.
class Replacer {
 public:
  Replacer(const Function& function, std::span<const Replacement> replacements)
      : function_(function),
        replacements_(replacements),
        unit_of_(function.nodes().size()),
        values_(function.value_count()),
        builder_(function.name(), /*lower_composites=*/false) {
    for (std::size_t i = 0; i < unit_of_.size(); ++i) unit_of_[i] = i;
    for (std::size_t r = 0; r < replacements.size(); ++r) {
      for (const NodeId id : replacements[r].nodes) {
        std::size_t& unit = unit_of_[static_cast<std::size_t>(id)];
        WEFT_CHECK(unit == static_cast<std::size_t>(id),
                   "two replacements of one node");
        unit = unit_of_.size() + r;
      }
    }
    find_waits();
  }

  std::optional<Function> run() {
    bool is_complete = false;
    Function result = builder_.build([&] {
      const std::vector<Value> parameters = add_parameters(builder_, function_);
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        at(function_.parameters()[i]) = parameters[i];
      }
      is_complete = emit_all();
      std::vector<Value> results;
      if (!is_complete) return results;
      for (const ValueId id : function_.results()) results.push_back(at(id));
      return results;
    });
    if (!is_complete) return std::nullopt;
    return eliminate_dead_nodes(std::move(result));
  }

 private:
  Value& at(ValueId id) { return values_[static_cast<std::size_t>(id)]; }
  bool is_replacement(std::size_t unit) const {
    return unit >= unit_of_.size();
  }
  const Replacement& replacement(std::size_t unit) const {
    return replacements_[unit - unit_of_.size()];
  }

  // Which units wait for which, and for how many.
  void find_waits() {
    const std::size_t units = unit_of_.size() + replacements_.size();
    waiting_.resize(units);
    missing_.resize(units);
    const auto wait = [&](std::size_t unit, const std::vector<ValueId>& ids) {
      for (const ValueId id : ids) {
        const NodeId maker = function_.value(id).node;
        if (maker < 0) continue;
        const std::size_t source = unit_of_[static_cast<std::size_t>(maker)];
        WEFT_CHECK(source != unit, "a replacement reads what it replaces");
        waiting_[source].push_back(unit);
        ++missing_[unit];
      }
    };
    for (std::size_t i = 0; i < unit_of_.size(); ++i) {
      if (unit_of_[i] == i) wait(i, function_.nodes()[i].inputs);
    }
    for (std::size_t r = 0; r < replacements_.size(); ++r) {
      wait(unit_of_.size() + r, replacements_[r].inputs);
    }
  }

  // A replacement stands where the last of its nodes stood.
  std::size_t place_of(std::size_t unit) const {
    if (!is_replacement(unit)) return unit;
    const std::vector<NodeId>& nodes = replacement(unit).nodes;
    return static_cast<std::size_t>(*std::ranges::max_element(nodes));
  }

  // False where some units wait for each other.
  bool emit_all() {
    using Entry = std::pair<std::size_t, std::size_t>;  // place, unit
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    const auto offer = [&](std::size_t unit) {
      if (missing_[unit] == 0) ready.emplace(place_of(unit), unit);
    };
    std::size_t left = replacements_.size();
    for (std::size_t i = 0; i < unit_of_.size(); ++i) {
      if (unit_of_[i] != i) continue;
      ++left;
      offer(i);
    }
    for (std::size_t r = 0; r < replacements_.size(); ++r) {
      offer(unit_of_.size() + r);
    }
    while (!ready.empty()) {
      const std::size_t unit = ready.top().second;
      ready.pop();
      emit(unit);
      --left;
      for (const std::size_t waiting : waiting_[unit]) {
        --missing_[waiting];
        offer(waiting);
      }
    }
    return left == 0;
  }

  void emit(std::size_t unit) {
    if (!is_replacement(unit)) return copy(function_.nodes()[unit]);
    const Replacement& replacement = this->replacement(unit);
    // What is put in belongs to the layer whose result it is.
    const Node& last = function_.nodes()[place_of(unit)];
    const LayerScope scope(last.location.scope);
    const std::vector<Value> made =
        replacement.make([&](ValueId id) { return at(id); });
    WEFT_CHECK(made.size() == replacement.results.size());
    for (std::size_t i = 0; i < made.size(); ++i) {
      const ValueId id = replacement.results[i];
      WEFT_CHECK(made[i].type() == function_.type(id), "{} stands for {}",
                 to_string(made[i].type()), to_string(function_.type(id)));
      at(id) = made[i];
    }
  }

  void copy(const Node& node) {
    std::vector<const Value*> operands;
    for (const ValueId id : node.inputs) operands.push_back(&at(id));
    const std::vector<Value> results =
        builder_.apply(*node.op, operands, node.attributes, node.location);
    for (std::size_t i = 0; i < results.size(); ++i) {
      at(node.outputs[i]) = results[i];
    }
  }

  const Function& function_;
  std::span<const Replacement> replacements_;
  std::vector<std::size_t> unit_of_;  // of each node
  std::vector<std::vector<std::size_t>> waiting_;
  std::vector<std::size_t> missing_;
  std::vector<Value> values_;
  FunctionBuilder builder_;
};

}  // namespace

std::optional<Function> replace_nodes(
    const Function& function, std::span<const Replacement> replacements) {
  return Replacer(function, replacements).run();
}

}  // namespace weft
