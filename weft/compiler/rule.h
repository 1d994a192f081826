// Substitutions in graphs: a rule is a pattern of nodes, what it asks of them,
// and what takes their place.
//
//   for (const Match& match : find_matches(function, readers, rule)) {
//     candidates.push_back(apply(function, match));
//   }
//
// A new rule is one file in weft/compiler/rules/. Some always pay, and are
// applied wherever they match before a function is planned; what others are
// worth depends on shapes and the machine, and is measured (search.h).
//
// The form of patterns follows Jia et al., "Optimizing DNN Computation with
// Relaxed Graph Substitutions", SysML 2019, section 3: what enters a match from
// outside goes on to the target, and what leaves it is read from there.
//
// Threads: pure functions; the registry is immutable.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/registry.h"
#include "weft/compiler/readers.h"
#include "weft/compiler/replacement.h"

namespace weft {

// What a node of a pattern reads: the result of another one, or something from
// outside, by its number. Operands with one number are one value.
struct PatternOperand {
  static PatternOperand outside(int number) { return {-1, 0, number}; }
  static PatternOperand of(int node, int output = 0) {
    return {node, output, -1};
  }
  // Any result of the node.
  static PatternOperand any_of(int node) { return {node, -1, -1}; }

  int node;
  int output;
  int number;
};

enum class PatternRole {
  kInner,   // leaves; nobody outside of the match reads it
  kResult,  // leaves; the target gives all of its results
  kSource,  // stays for whoever else reads it; the target may do without
};

// A node of a function, as rules look at it.
struct MatchedNode {
  const Function& function;
  const Node& node;

  const Attributes& attributes() const { return node.attributes; }
  const TensorType& operand(std::size_t index) const {
    return function.type(node.inputs[index]);
  }
  const TensorType& result(std::size_t index = 0) const {
    return function.type(node.outputs[index]);
  }
};

// Whether two products or convolutions have biases of one dtype, or none. Those
// of bf16 may have either bf16 or f32.
bool have_like_biases(const MatchedNode& a, const MatchedNode& b);

struct PatternNode {
  // It is one of these ops; where there are none, any op with all these traits.
  std::vector<const OpDef*> ops = {};
  unsigned traits = 0;
  // Its first operands; a commutative op may have the first two in any order.
  std::vector<PatternOperand> operands = {};
  PatternRole role = PatternRole::kInner;
  // Whether it may have more operands.
  bool may_have_more = false;
  bool (*holds)(const MatchedNode&) = nullptr;
};

struct RuleDef;

// Where a rule fits a function.
struct Match {
  const RuleDef* rule = nullptr;
  std::vector<NodeId> nodes;     // in the pattern's order
  std::vector<ValueId> outside;  // by number
};

// A match, as constraints and targets look at it.
class MatchView {
 public:
  MatchView(const Function& function, const Match& match,
            const NewValue* values = nullptr)
      : function_(function), match_(match), values_(values) {}

  MatchedNode node(int index) const {
    return {function_, function_.node(id(index))};
  }
  const Attributes& attributes(int index) const {
    return node(index).attributes();
  }
  const TensorType& type(int number) const {
    return function_.type(match_.outside[static_cast<std::size_t>(number)]);
  }
  // Only for targets: the value from outside, and the operands of a node from
  // `first` on, which must be from outside.
  Value outside(int number) const {
    return (*values_)(match_.outside[static_cast<std::size_t>(number)]);
  }
  std::vector<Value> operands_from(int index, std::size_t first) const;

 private:
  NodeId id(int index) const {
    return match_.nodes[static_cast<std::size_t>(index)];
  }

  const Function& function_;
  const Match& match_;
  const NewValue* values_;
};

// A function in the text form (graph/text.h), and what the rule makes of it,
// applied as often as it fits; empty where it must leave the function alone.
struct RuleSample {
  std::string before;
  std::string after = {};
};

enum class RuleUse { kAlways, kMeasured };

struct RuleDef {
  std::string name;
  std::string summary;
  RuleUse use = RuleUse::kMeasured;
  // Those that are always used: of lower order first, among the passes
  // (pass.h).
  int order = 0;
  bool keeps_bits = false;
  // Whether it always pays where all that the match reads, but for its first
  // outside operand, never changes: what the target makes of that is computed
  // once. Such are used wherever parameters are frozen (frozen_rules.h).
  bool pays_if_frozen = false;
  // Whether it is tried on what a search has found, and only there: no other
  // rule fits what it makes.
  bool is_last = false;
  // Whether it may be used in a graph that trains: batches' own statistics,
  // weights that change from step to step.
  bool holds_in_training = true;
  // Each node but the first reads, or is read by, one before it, or has an
  // outside operand in common with it.
  std::vector<PatternNode> pattern = {};
  // What it asks of several nodes at once.
  bool (*holds)(const MatchView&) = nullptr;
  // The results of all nodes that are kResult, in order.
  std::vector<Value> (*make)(const MatchView&) = nullptr;
  std::vector<RuleSample> samples = {};
};

using RuleRegistry = Registry<RuleDef>;
// It is filled from the files of weft/compiler/rules.
const RuleRegistry& rule_registry();

// All places where it fits, by the number of the pattern's first node. A match
// whose target would wait for itself is left out. `readers` are the function's.
std::vector<Match> find_matches(const Function& function,
                                const Readers& readers, const RuleDef& rule);

// The function with the target in place.
Function apply(const Function& function, const Match& match);

// The function with the targets of all matches in place, of those that share a
// node that of the first; nothing where there is no match, or none that `may`
// takes.
std::optional<Function> apply_to_all(
    const Function& function, const RuleDef& rule,
    const std::function<bool(const Match&)>& may = {});

// The rule applied wherever it fits, until it fits nowhere: for rules that make
// functions smaller.
Function apply_everywhere(Function function, const RuleDef& rule);

}  // namespace weft
