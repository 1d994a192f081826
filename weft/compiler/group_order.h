// Groups of nodes that grow by merging, as long as some order remains in which
// whole groups can run one after the other.
//
// Two groups may become one unless a path between them leads through a third:
// that one would have to run after the first and before the second, and so in
// the middle of their union. The groups stand in a topological order that each
// merge repairs where it breaks it (Pearce and Kelly, "A dynamic topological
// sort algorithm for directed acyclic graphs", 2007), so that a search for
// such a path looks only at what stands between the two.
//
// Threads: caller synchronises; const members share freely.
#pragma once

#include <bitset>
#include <cstdint>
#include <vector>

#include "weft/graph/function.h"

namespace weft {

class GroupOrder {
 public:
  // Each node is alone in its group at first. Between two that stand side by
  // side there is room for so many; where it is used up, all are numbered anew.
  explicit GroupOrder(const Function& function,
                      std::int64_t gap = std::int64_t{1} << 20);

  // The node that stands for the group of `node`.
  int find(int node) const {
    while (parent_[at(node)] != node) node = parent_[at(node)];
    return node;
  }
  // They come in no order.
  const std::vector<NodeId>& members(int group) const {
    return members_[at(group)];
  }
  // Makes one group of two, for which `b` stands then; false if a path between
  // them leads through a third.
  bool merge(int a, int b);

 private:
  // As many as keep a search short in a graph of some ten thousand nodes.
  using Landmarks = std::bitset<256>;

  static std::size_t at(int node) { return static_cast<std::size_t>(node); }
  void choose_landmarks();
  bool find_between(int low, int high);
  void move_below(int low);
  void unlink(int group);
  void link_before(int group, int next);
  int compressed(int node);
  bool visit(int group);
  void begin_visits();

  std::vector<std::vector<NodeId>> operands_;  // by node
  std::vector<int> parent_;                    // by node; union-find
  std::vector<std::vector<NodeId>> members_;   // by group
  // The order: a ring, which ends in one entry more than there are groups.
  std::vector<int> next_, previous_;
  std::vector<std::int64_t> position_;  // rises along it
  std::int64_t gap_;
  // Which landmarks a group comes before and after, a bit each: a group after a
  // landmark depends on any group before it.
  std::vector<Landmarks> before_;
  std::vector<Landmarks> after_;
  std::vector<int> visited_;  // by group: the search that was there last
  int search_ = 0;
  std::vector<int> below_;  // groups that `high` needs, above `low`
  std::vector<int> pending_;
};

}  // namespace weft
