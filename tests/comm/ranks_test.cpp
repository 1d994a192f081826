#include "weft/comm/transport/ranks.h"

#include <gtest/gtest.h>

#include "weft/comm/collective/parts.h"

namespace weft::ranks_test {
namespace {

TEST(Ranks, AreTheirListHoweverTheyAreKept) {
  for (const std::vector<int>& list : {std::vector<int>{},
                                       {5},
                                       {3, 1},
                                       {0, 1, 2, 3},
                                       {2, 6, 10},
                                       {9, 6, 3},
                                       {0, 3, 1, 4}}) {
    const Ranks ranks(list);
    EXPECT_EQ(ranks.list(), list);
    EXPECT_EQ(ranks.size(), static_cast<int>(list.size()));
    for (int i = 0; i < ranks.size(); ++i) {
      EXPECT_EQ(ranks.position_of(ranks[i]), i);
    }
  }
  EXPECT_EQ(Ranks(3).list(), (std::vector<int>{0, 1, 2}));
}

TEST(Ranks, ArePickedByPosition) {
  const Ranks even(std::vector<int>{4, 6, 8, 10});
  EXPECT_EQ(even.pick(std::vector<int>{3, 1}).list(),
            (std::vector<int>{10, 6}));
  EXPECT_EQ(even.pick(std::vector<int>{0, 3, 1}).list(),
            (std::vector<int>{4, 10, 6}));
  const Ranks uneven(std::vector<int>{4, 5, 9});
  EXPECT_EQ(uneven.pick(std::vector<int>{2, 0}).list(),
            (std::vector<int>{9, 4}));
}

TEST(Parts, OfNearlyEqualSizesAreThoseOfTheirSizes) {
  for (const std::size_t size : {0u, 3u, 10u, 11u}) {
    const Parts parts = Parts::near_equal({100, 100 + size}, 4);
    EXPECT_EQ(parts.whole(), (Interval{100, 100 + size}));
    std::vector<std::size_t> sizes;
    std::size_t begin = 100;
    for (int i = 0; i < parts.count(); ++i) {
      EXPECT_EQ(parts[i].begin, begin);
      sizes.push_back(parts[i].size());
      begin = parts[i].end;
    }
    EXPECT_EQ(begin, 100 + size);
    EXPECT_LE(sizes.front() - sizes.back(), 1u);
    const Parts listed = Parts::of_sizes(sizes);
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(listed[i].size(), sizes[static_cast<std::size_t>(i)]);
    }
  }
}

}  // namespace
}  // namespace weft::ranks_test
