// Which elementwise nodes run together, and which values they recompute.
//
// Threads: immutable once built.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "weft/compiler/columns.h"
#include "weft/compiler/group_order.h"
#include "weft/graph/function.h"
#include "weft/kernels/loop/tile_functions.h"

namespace weft {

// Computing more than this again (in additions) costs more than reading memory.
constexpr double kMostRecomputedWeight = 24;

// What an elementwise node costs, in additions.
double flops_per_element(const Function& function, const Node& node);

// A constant that a loop can carry inside, instead of reading it.
std::optional<double> loop_immediate(const Function& function, ValueId id);

// What a loop reads for `id`: the operand of a broadcast, which it repeats by
// itself; else the value.
ValueId loop_source(const Function& function, ValueId id);

class LoopGroups {
 public:
  explicit LoopGroups(const Function& function);

  // The group of a node; nodes that are no part of a loop are alone in theirs.
  int group_of(NodeId node) const { return groups_.find(node); }
  bool is_loop_node(NodeId node) const {
    return loop_shape_[static_cast<std::size_t>(node)].has_value();
  }
  const Shape& loop_shape(NodeId node) const {
    return *loop_shape_[static_cast<std::size_t>(node)];
  }
  TileType loop_type(NodeId node) const {
    return loop_type_[static_cast<std::size_t>(node)];
  }
  bool is_sum(NodeId node) const;
  // The members of a group that is a loop, in order.
  std::vector<NodeId> members(int group) const;

  // True if the value is a result of the function, or another group or op
  // reads it.
  bool is_read_outside(ValueId value) const;
  // True if `value` is a concatenation of columns that loops over all of it
  // alone read: they read its operands, and it need not be made.
  bool is_read_in_parts(ValueId value) const;
  // Whose columns `value` is, if only loops over all of it read it: they read
  // that value, and what they read need not be cut out of it.
  std::optional<ColumnRange> read_columns(ValueId value) const;
  // True if `group` computes `value` itself instead of reading it.
  bool computes(int group, ValueId value) const;
  // True if the value has to be in memory for somebody.
  bool is_stored(ValueId value) const {
    return stored_[static_cast<std::size_t>(value)];
  }

 private:
  using Leaves = std::set<ValueId>;

  void classify();
  void form_groups();
  void release_lone_sums();
  void try_merge(int a, int b);
  bool reads_sum_of(int reader, int group) const;
  void choose_stored();
  void decide(ValueId value);
  void recompute_in(int group, ValueId value);
  double extra_bytes(int group, ValueId value) const;
  std::vector<ValueId> missing_leaves(int group, ValueId value) const;
  double missing_bytes(int group, ValueId value) const;
  bool is_computed_with(int group, ValueId leaf, ValueId value) const;
  Leaves leaves_of(const Node& node) const;
  bool is_for_whole_loops(ValueId value) const;
  double bytes(ValueId value) const;
  NodeId producer(ValueId value) const { return function_.value(value).node; }
  // Loops of other elements, or in other numbers, are not the same.
  bool have_one_loop(NodeId a, NodeId b) const {
    return loop_shape(a) == loop_shape(b) && loop_type(a) == loop_type(b);
  }

  const Function& function_;
  std::vector<std::optional<Shape>> loop_shape_;  // by node
  std::vector<TileType> loop_type_;               // by node of a loop
  GroupOrder groups_;
  std::vector<std::vector<NodeId>> readers_;  // by value; -1 a result
  std::vector<bool> stored_;                  // by value
  std::vector<Leaves> leaves_;                // by value: what to read
  std::vector<double> weight_;                // by value: to recompute it
  std::vector<std::set<int>> recomputed_in_;  // by value: groups
  std::vector<Leaves> reads_;                 // by group root
};

}  // namespace weft
