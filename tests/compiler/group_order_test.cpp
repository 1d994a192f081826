#include "weft/compiler/group_order.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "weft/base/philox.h"
#include "weft/graph/builder.h"
#include "weft/ops/ops.h"

namespace weft::group_order_test {
namespace {

// Each node adds two earlier values, near ones more often than far ones: local
// chains with jumps across the whole graph, as in a backward pass.
Function random_function(std::uint32_t seed, std::size_t nodes) {
  const RandomStream random{seed, 0, 0};
  std::uint64_t drawn = 0;
  const auto below = [&](std::size_t limit) {
    return static_cast<std::size_t>(random.word(drawn++)) % limit;
  };
  FunctionBuilder builder("f");
  return builder.build([&] {
    std::vector<Value> values{builder.parameter({DType::kF32, {4}}, "x")};
    for (std::size_t i = 0; i < nodes; ++i) {
      const std::size_t reach = below(4) == 0
                                    ? values.size()
                                    : std::min<std::size_t>(values.size(), 4);
      const Value& a = values[values.size() - 1 - below(reach)];
      const Value& b = values[values.size() - 1 - below(reach)];
      values.push_back(a + b);
    }
    return std::vector{values.back()};
  });
}

// The definition: groups as sets, and whether one needs another by a walk over
// all edges.
class PlainGroups {
 public:
  explicit PlainGroups(const Function& function) : function_(function) {
    for (std::size_t i = 0; i < function.nodes().size(); ++i) {
      group_.push_back(static_cast<int>(i));
    }
  }

  bool merge(int a, int b) {
    for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}}) {
      for (const int next : needs(from)) {
        if (next != to && reaches(next, to)) return false;
      }
    }
    std::replace(group_.begin(), group_.end(), a, b);
    return true;
  }

  int group_of(int node) const {
    return group_[static_cast<std::size_t>(node)];
  }

 private:
  std::set<int> needs(int group) const {
    std::set<int> found;
    for (std::size_t i = 0; i < group_.size(); ++i) {
      if (group_[i] != group) continue;
      for (const ValueId input : function_.nodes()[i].inputs) {
        if (function_.is_parameter(input)) continue;
        found.insert(group_of(function_.value(input).node));
      }
    }
    found.erase(group);
    return found;
  }

  bool reaches(int from, int to) const {
    std::set<int> seen{from};
    std::vector<int> pending{from};
    while (!pending.empty()) {
      const int current = pending.back();
      pending.pop_back();
      if (current == to) return true;
      for (const int next : needs(current)) {
        if (seen.insert(next).second) pending.push_back(next);
      }
    }
    return false;
  }

  const Function& function_;
  std::vector<int> group_;
};

// Also where each move finds no room, so that all groups are numbered anew.
TEST(GroupOrder, MergesWhatTheDefinitionMerges) {
  int merged = 0;
  int refused = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const Function function = random_function(seed, 40);
    GroupOrder groups =
        seed % 2 == 0 ? GroupOrder(function) : GroupOrder(function, /*gap=*/1);
    PlainGroups plain(function);
    const RandomStream random{seed, 1, 0};
    for (std::uint64_t i = 0; i < 60; ++i) {
      const int a = groups.find(static_cast<int>(random.word(2 * i) % 40));
      const int b = groups.find(static_cast<int>(random.word(2 * i + 1) % 40));
      if (a == b) continue;
      const bool is_merged = groups.merge(a, b);
      ASSERT_EQ(is_merged, plain.merge(a, b)) << "seed " << seed << ", " << i;
      ++(is_merged ? merged : refused);
      for (int node = 0; node < 40; ++node) {
        ASSERT_EQ(groups.find(node), plain.group_of(node));
      }
    }
  }
  EXPECT_GT(merged, 300);
  EXPECT_GT(refused, 300);
}

TEST(GroupOrder, KnowsTheMembersOfAGroup) {
  const Function function = random_function(1, 10);
  GroupOrder groups(function);
  ASSERT_TRUE(groups.merge(3, 2));
  std::vector<NodeId> members = groups.members(groups.find(3));
  std::sort(members.begin(), members.end());
  EXPECT_EQ(members, (std::vector<NodeId>{2, 3}));
  EXPECT_EQ(groups.find(3), 2);
}

}  // namespace
}  // namespace weft::group_order_test
