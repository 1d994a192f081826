#include "weft/compiler/group_order.h"

#include <algorithm>
#include <numeric>

namespace weft {
namespace {

void drop_repeated(std::vector<NodeId>& nodes) {
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
}

}  // namespace

GroupOrder::GroupOrder(const Function& function, std::int64_t gap) : gap_(gap) {
  const std::size_t count = function.nodes().size();
  operands_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (const ValueId input : function.nodes()[i].inputs) {
      if (function.is_parameter(input)) continue;
      operands_[i].push_back(function.value(input).node);
    }
    drop_repeated(operands_[i]);
  }
  parent_.resize(count);
  std::iota(parent_.begin(), parent_.end(), 0);
  for (const int node : parent_) members_.push_back({node});
  // Nodes stand in an order in which they can run.
  const int end = static_cast<int>(count);
  for (int i = 0; i <= end; ++i) {
    next_.push_back(i == end ? 0 : i + 1);
    previous_.push_back(i == 0 ? end : i - 1);
    position_.push_back(gap_ * i);
  }
  visited_.assign(count, 0);
  choose_landmarks();
}

// Landmarks lie at even distances on a longest path. In a training step that is
// the way through all layers to the loss and back, which is what keeps nearly
// every forward group from joining a backward one: few pairs need a search.
void GroupOrder::choose_landmarks() {
  const std::size_t count = parent_.size();
  before_.resize(count);
  after_.resize(count);
  if (count == 0) return;
  std::vector<int> depth(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    for (const NodeId operand : operands_[i]) {
      depth[i] = std::max(depth[i], depth[at(operand)] + 1);
    }
  }
  const auto deepest = std::max_element(depth.begin(), depth.end());
  std::vector<NodeId> path{static_cast<NodeId>(deepest - depth.begin())};
  while (!operands_[at(path.back())].empty()) {
    const auto& operands = operands_[at(path.back())];
    path.push_back(*std::max_element(
        operands.begin(), operands.end(),
        [&](NodeId a, NodeId b) { return depth[at(a)] < depth[at(b)]; }));
  }
  const std::size_t landmarks = std::min(path.size(), Landmarks().size());
  for (std::size_t i = 0; i < landmarks; ++i) {
    const NodeId node = path[i * path.size() / landmarks];
    before_[at(node)].set(i);
    after_[at(node)].set(i);
  }
  // Nodes stand in an order in which they can run, so that one pass each way
  // carries the marks to all.
  for (std::size_t i = 0; i < count; ++i) {
    for (const NodeId operand : operands_[i]) after_[i] |= after_[at(operand)];
  }
  for (std::size_t i = count; i-- > 0;) {
    for (const NodeId operand : operands_[i])
      before_[at(operand)] |= before_[i];
  }
}

// find(), which halves the path for those who come after.
int GroupOrder::compressed(int node) {
  while (parent_[at(node)] != node) {
    parent_[at(node)] = parent_[at(parent_[at(node)])];
    node = parent_[at(node)];
  }
  return node;
}

// Marks take the place of a set that would have to be emptied for each search.
void GroupOrder::begin_visits() { ++search_; }

bool GroupOrder::visit(int group) {
  if (visited_[at(group)] == search_) return false;
  visited_[at(group)] = search_;
  return true;
}

// Collects what `high` needs and what stands above `low`; false as soon as one
// of these needs `low`.
bool GroupOrder::find_between(int low, int high) {
  begin_visits();
  below_.clear();
  pending_.assign(1, high);
  while (!pending_.empty()) {
    const int current = pending_.back();
    pending_.pop_back();
    for (const NodeId member : members_[at(current)]) {
      for (const NodeId operand : operands_[at(member)]) {
        const int group = compressed(operand);
        if (group == high) continue;
        if (group == low) {
          // What the two share directly does not stand between them.
          if (current != high) return false;
          continue;
        }
        // What stands before `low` cannot need it, and need not be searched.
        if (position_[at(group)] < position_[at(low)] || !visit(group)) {
          continue;
        }
        // A landmark lies between the two: the group needs `low` without any
        // search.
        if ((after_[at(group)] & before_[at(low)]).any()) return false;
        below_.push_back(group);
        pending_.push_back(group);
      }
    }
  }
  return true;
}

void GroupOrder::unlink(int group) {
  next_[at(previous_[at(group)])] = next_[at(group)];
  previous_[at(next_[at(group)])] = previous_[at(group)];
}

void GroupOrder::link_before(int group, int next) {
  next_[at(group)] = next;
  previous_[at(group)] = previous_[at(next)];
  next_[at(previous_[at(group)])] = group;
  previous_[at(next)] = group;
}

// What the union needs comes before it. find_between() has filled below_;
// whoever needs one of these stands behind them still.
void GroupOrder::move_below(int low) {
  if (below_.empty()) return;
  std::sort(below_.begin(), below_.end(),
            [&](int a, int b) { return position_[at(a)] < position_[at(b)]; });
  for (const int group : below_) {
    unlink(group);
    link_before(group, low);
  }
  const int end = static_cast<int>(parent_.size());
  const int before = previous_[at(below_.front())];
  // There is as much room in front of all others as they want.
  const std::int64_t parts = std::ssize(below_) + 1;
  const std::int64_t bottom =
      before == end ? position_[at(low)] - gap_ * parts : position_[at(before)];
  const std::int64_t step = (position_[at(low)] - bottom) / parts;
  std::int64_t position = bottom;
  if (step > 0) {
    for (const int group : below_) position_[at(group)] = position += step;
    return;
  }
  for (int group = next_[at(end)]; group != end; group = next_[at(group)]) {
    position_[at(group)] = position += gap_;
  }
}

bool GroupOrder::merge(int a, int b) {
  // Whoever needs the other stands above it.
  const bool a_is_low = position_[at(a)] < position_[at(b)];
  const int low = a_is_low ? a : b;
  const int high = a_is_low ? b : a;
  if (!find_between(low, high)) return false;
  move_below(low);
  unlink(high);
  if (b == high) {  // it takes the place of the other one
    link_before(high, low);
    position_[at(high)] = position_[at(low)];
    unlink(low);
  }
  parent_[at(a)] = b;
  auto& own = members_[at(a)];
  auto& all = members_[at(b)];
  // Each node moves into a group at least twice as large as the one that it
  // leaves.
  if (own.size() > all.size()) std::swap(own, all);
  all.insert(all.end(), own.begin(), own.end());
  own = {};
  before_[at(b)] |= before_[at(a)];
  after_[at(b)] |= after_[at(a)];
  return true;
}

}  // namespace weft
