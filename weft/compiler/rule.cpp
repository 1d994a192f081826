#include "weft/compiler/rule.h"

#include <algorithm>
#include <set>

namespace weft {
namespace {

// All that a match reads from outside: what the pattern numbers, and operands
// behind those of the pattern.
std::vector<ValueId> inputs_of(const Function& function, const Match& match) {
  std::vector<ValueId> inputs = match.outside;
  for (std::size_t i = 0; i < match.nodes.size(); ++i) {
    const PatternNode& pattern = match.rule->pattern[i];
    const Node& node = function.node(match.nodes[i]);
    for (std::size_t k = pattern.operands.size(); k < node.inputs.size(); ++k) {
      inputs.push_back(node.inputs[k]);
    }
  }
  return inputs;
}

// Finds the assignments of a pattern's nodes to those of a function, depth
// first.
class Matcher {
 public:
  Matcher(const Function& function, const Readers& readers, const RuleDef& rule)
      : function_(function), readers_(readers), rule_(rule) {
    match_.rule = &rule;
    for (const PatternNode& node : rule.pattern) {
      for (const PatternOperand& operand : node.operands) {
        outside_count_ = std::max(outside_count_, operand.number + 1);
      }
    }
    match_.outside.assign(static_cast<std::size_t>(outside_count_), -1);
  }

  std::vector<Match> run() {
    for (std::size_t i = 0; i < function_.nodes().size(); ++i) {
      try_node(0, static_cast<NodeId>(i));
    }
    return std::move(found_);
  }

 private:
  const PatternNode& pattern(std::size_t index) const {
    return rule_.pattern[index];
  }

  static bool is_one_of(const Node& node, const PatternNode& pattern) {
    if (pattern.ops.empty()) {
      return pattern.traits != 0 && [&] {
        for (unsigned bit = 1; bit <= pattern.traits; bit <<= 1) {
          if ((pattern.traits & bit) != 0 &&
              !node.op->has(static_cast<OpTrait>(bit))) {
            return false;
          }
        }
        return true;
      }();
    }
    return std::ranges::find(pattern.ops, node.op) != pattern.ops.end();
  }

  void try_node(std::size_t index, NodeId id) {
    const PatternNode& wanted = pattern(index);
    const Node& node = function_.node(id);
    const std::size_t count = wanted.operands.size();
    if (!is_one_of(node, wanted) || std::ranges::count(match_.nodes, id) > 0 ||
        (wanted.may_have_more ? node.inputs.size() < count
                              : node.inputs.size() != count)) {
      return;
    }
    if (wanted.holds != nullptr && !wanted.holds({function_, node})) return;
    try_operands(index, id, /*swapped=*/false);
    // Where both are nodes that come later, these are tried both ways.
    const auto is_later = [&](const PatternOperand& operand) {
      return operand.node > static_cast<int>(index);
    };
    if (count == 2 && node.op->has(kCommutative) &&
        node.inputs[0] != node.inputs[1] &&
        !std::ranges::all_of(wanted.operands, is_later)) {
      try_operands(index, id, /*swapped=*/true);
    }
  }

  void try_operands(std::size_t index, NodeId id, bool swapped) {
    const Node& node = function_.node(id);
    const std::vector<ValueId> before = match_.outside;
    match_.nodes.push_back(id);
    bool fits = true;
    const std::size_t count = pattern(index).operands.size();
    for (std::size_t i = 0; i < count && fits; ++i) {
      const ValueId value = node.inputs[swapped ? 1 - i : i];
      fits = bind(pattern(index).operands[i], value);
    }
    // A node that was found by way of another's operand must be that operand.
    for (std::size_t earlier = 0; earlier < index && fits; ++earlier) {
      fits = reads_as_wanted(earlier, index);
    }
    if (fits) go_on(index + 1);
    match_.nodes.pop_back();
    match_.outside = before;
  }

  // Whether `value` may stand for the operand; of nodes that are not assigned
  // yet, that is asked once they are.
  bool bind(const PatternOperand& operand, ValueId value) {
    if (operand.number >= 0) {
      ValueId& known = match_.outside[static_cast<std::size_t>(operand.number)];
      if (known < 0) known = value;
      return known == value;
    }
    const auto node = static_cast<std::size_t>(operand.node);
    return node >= match_.nodes.size() || is_output(operand, value);
  }

  bool is_output(const PatternOperand& operand, ValueId value) const {
    const Node& node =
        function_.node(match_.nodes[static_cast<std::size_t>(operand.node)]);
    if (operand.output < 0) {
      return std::ranges::find(node.outputs, value) != node.outputs.end();
    }
    return node.outputs[static_cast<std::size_t>(operand.output)] == value;
  }

  // Whether the operands of an earlier node that are results of `later` are
  // those, in the order that was taken for it.
  bool reads_as_wanted(std::size_t earlier, std::size_t later) const {
    const std::vector<PatternOperand>& operands = pattern(earlier).operands;
    const Node& node = function_.node(match_.nodes[earlier]);
    const auto is_read = [&](bool swapped) {
      for (std::size_t i = 0; i < operands.size(); ++i) {
        if (operands[i].node != static_cast<int>(later)) continue;
        if (!is_output(operands[i], node.inputs[swapped ? 1 - i : i])) {
          return false;
        }
      }
      return true;
    };
    return is_read(false) || (operands.size() == 2 &&
                              node.op->has(kCommutative) && is_read(true));
  }

  void go_on(std::size_t index) {
    if (index == rule_.pattern.size()) return finish();
    for (const NodeId id : candidates(index)) try_node(index, id);
  }

  // The nodes that could be `index`, given those before it.
  std::vector<NodeId> candidates(std::size_t index) const {
    for (std::size_t i = 0; i < index; ++i) {
      const Node& node = function_.node(match_.nodes[i]);
      // It makes what an earlier one reads; the order of two operands is tried
      // both ways.
      for (const PatternOperand& operand : pattern(i).operands) {
        if (operand.node == static_cast<int>(index)) return makers(node);
      }
    }
    for (const PatternOperand& operand : pattern(index).operands) {
      if (operand.node >= 0 && operand.node < static_cast<int>(index)) {
        const Node& node = function_.node(
            match_.nodes[static_cast<std::size_t>(operand.node)]);
        return readers_of(node, operand.output);
      }
      if (operand.number < 0) continue;
      const ValueId known =
          match_.outside[static_cast<std::size_t>(operand.number)];
      if (known >= 0) return distinct(readers_.nodes(known));
    }
    WEFT_CHECK(false, "rule {}: node {} hangs on nothing before it", rule_.name,
               index);
    return {};
  }

  std::vector<NodeId> readers_of(const Node& node, int output) const {
    std::vector<NodeId> nodes;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (output >= 0 && output != static_cast<int>(i)) continue;
      const auto readers = readers_.nodes(node.outputs[i]);
      nodes.insert(nodes.end(), readers.begin(), readers.end());
    }
    return distinct(nodes);
  }

  std::vector<NodeId> makers(const Node& node) const {
    std::vector<NodeId> nodes;
    for (const ValueId id : node.inputs) {
      if (!function_.is_parameter(id))
        nodes.push_back(function_.value(id).node);
    }
    return distinct(nodes);
  }

  static std::vector<NodeId> distinct(std::span<const NodeId> nodes) {
    std::vector<NodeId> all(nodes.begin(), nodes.end());
    std::ranges::sort(all);
    all.erase(std::ranges::unique(all).begin(), all.end());
    return all;
  }

  void finish() {
    for (std::size_t i = 0; i < rule_.pattern.size(); ++i) {
      if (pattern(i).role == PatternRole::kInner && escapes(i)) return;
    }
    if (reads_itself() || !is_convex()) return;
    if (rule_.holds != nullptr && !rule_.holds({function_, match_})) return;
    found_.push_back(match_);
  }

  // Whether somebody outside of the match reads a result of the node.
  bool escapes(std::size_t index) const {
    const Node& node = function_.node(match_.nodes[index]);
    return std::ranges::any_of(node.outputs, [&](ValueId id) {
      return readers_.is_result(id) ||
             std::ranges::any_of(readers_.nodes(id), [&](NodeId reader) {
               return std::ranges::count(match_.nodes, reader) == 0;
             });
    });
  }

  // Whether an operand from outside is a result of what leaves, as where a
  // product is added to itself.
  bool reads_itself() const {
    return std::ranges::any_of(inputs_of(function_, match_), [&](ValueId id) {
      const NodeId maker = function_.value(id).node;
      for (std::size_t i = 0; i < match_.nodes.size(); ++i) {
        if (match_.nodes[i] == maker && maker >= 0 &&
            pattern(i).role != PatternRole::kSource) {
          return true;
        }
      }
      return false;
    });
  }

  // Whether no operand from outside was computed from what leaves. Nodes stand
  // in an order in which they can run, so those before the first that leaves
  // need not be looked at.
  bool is_convex() const {
    std::vector<NodeId> leaving;
    for (std::size_t i = 0; i < rule_.pattern.size(); ++i) {
      if (pattern(i).role != PatternRole::kSource) {
        leaving.push_back(match_.nodes[i]);
      }
    }
    const NodeId first = *std::ranges::min_element(leaving);
    std::vector<NodeId> open;
    std::set<NodeId> seen;
    const auto visit = [&](const Node& node) {
      for (const ValueId id : node.inputs) {
        const NodeId maker = function_.value(id).node;
        if (maker > first && std::ranges::count(leaving, maker) == 0 &&
            seen.insert(maker).second) {
          open.push_back(maker);
        }
      }
    };
    for (const NodeId id : leaving) visit(function_.node(id));
    while (!open.empty()) {
      const Node& node = function_.node(open.back());
      open.pop_back();
      for (const ValueId id : node.inputs) {
        if (std::ranges::count(leaving, function_.value(id).node) > 0) {
          return false;
        }
      }
      visit(node);
    }
    return true;
  }

  const Function& function_;
  const Readers& readers_;
  const RuleDef& rule_;
  int outside_count_ = 0;
  Match match_;
  std::vector<Match> found_;
};

Replacement replacement_of(const Function& function, const Match& match) {
  Replacement replacement;
  for (std::size_t i = 0; i < match.nodes.size(); ++i) {
    const PatternRole role = match.rule->pattern[i].role;
    if (role == PatternRole::kSource) continue;
    replacement.nodes.push_back(match.nodes[i]);
    if (role != PatternRole::kResult) continue;
    const Node& node = function.node(match.nodes[i]);
    replacement.results.insert(replacement.results.end(), node.outputs.begin(),
                               node.outputs.end());
  }
  replacement.inputs = inputs_of(function, match);
  replacement.make = [&function, &match](const NewValue& values) {
    return match.rule->make(MatchView(function, match, &values));
  };
  return replacement;
}

}  // namespace

bool have_like_biases(const MatchedNode& a, const MatchedNode& b) {
  constexpr std::size_t kBias = 2;
  const std::size_t operands = a.node.inputs.size();
  return operands == b.node.inputs.size() &&
         (operands <= kBias ||
          a.operand(kBias).dtype == b.operand(kBias).dtype);
}

std::vector<Value> MatchView::operands_from(int index,
                                            std::size_t first) const {
  const std::vector<ValueId>& inputs = function_.node(id(index)).inputs;
  std::vector<Value> values;
  for (std::size_t i = first; i < inputs.size(); ++i) {
    values.push_back((*values_)(inputs[i]));
  }
  return values;
}

std::vector<Match> find_matches(const Function& function,
                                const Readers& readers, const RuleDef& rule) {
  return Matcher(function, readers, rule).run();
}

Function apply(const Function& function, const Match& match) {
  const std::vector replacements = {replacement_of(function, match)};
  std::optional<Function> result = replace_nodes(function, replacements);
  WEFT_CHECK(result.has_value(), "rule {} made a cycle", match.rule->name);
  return *std::move(result);
}

std::optional<Function> apply_to_all(
    const Function& function, const RuleDef& rule,
    const std::function<bool(const Match&)>& may) {
  const Readers readers(function);
  std::vector<Match> matches = find_matches(function, readers, rule);
  if (may)
    std::erase_if(matches, [&](const Match& each) { return !may(each); });
  if (matches.empty()) return std::nullopt;
  std::vector<bool> is_taken(function.nodes().size());
  std::vector<Replacement> replacements;
  for (const Match& match : matches) {
    if (std::ranges::any_of(match.nodes, [&](NodeId id) {
          return is_taken[static_cast<std::size_t>(id)];
        })) {
      continue;
    }
    for (const NodeId id : match.nodes) {
      is_taken[static_cast<std::size_t>(id)] = true;
    }
    replacements.push_back(replacement_of(function, match));
  }
  std::optional<Function> next = replace_nodes(function, replacements);
  // Two that each could be made may wait for each other.
  return next ? *std::move(next) : apply(function, matches.front());
}

Function apply_everywhere(Function function, const RuleDef& rule) {
  while (std::optional<Function> next = apply_to_all(function, rule)) {
    function = *std::move(next);
  }
  return function;
}

}  // namespace weft
