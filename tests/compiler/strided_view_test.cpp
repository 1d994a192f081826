// Steps through memory of what ops choose and order.
#include "weft/compiler/strided_view.h"

#include <gtest/gtest.h>

#include "weft/graph/text.h"

namespace weft::strided_view_test {
namespace {

Function function_of(const std::string& text) {
  return parse_graph(text).functions.at(0);
}

TEST(StridedView, NeighboursJoinAndAxesTakeThemApart) {
  EXPECT_EQ(joined({{2, 12}, {1, 7}, {3, 4}, {4, 1}}), (ViewStrides{{24, 1}}));
  EXPECT_EQ(joined({{2, 24}, {3, 4}, {4, 1}}), (ViewStrides{{2, 24}, {12, 1}}));
  const std::vector<Dim> sizes = {2, 3, 1, 4};
  const auto axes = by_axes({{24, 1}}, sizes);
  ASSERT_TRUE(axes);
  EXPECT_EQ((*axes)[0], (ViewStrides{{2, 12}}));
  EXPECT_EQ((*axes)[1], (ViewStrides{{3, 4}}));
  EXPECT_TRUE((*axes)[2].empty());
  // An axis of several strides keeps them.
  const std::vector<Dim> whole = {24};
  EXPECT_EQ((*by_axes({{2, 100}, {12, 1}}, whole))[0],
            (ViewStrides{{2, 100}, {12, 1}}));
  // One would begin inside of 12 elements, behind 8 of them.
  const std::vector<Dim> across = {3, 8};
  EXPECT_FALSE(by_axes({{2, 100}, {12, 1}}, across));
  // More elements than there are.
  const std::vector<Dim> more = {48};
  EXPECT_FALSE(by_axes({{24, 1}}, more));
}

// Batches and heads that a reshape puts on one axis come apart again.
TEST(StridedView, GoesThroughAnAxisThatHasNoStepOfItsOwn) {
  const Function function =
      function_of(R"(func @f(%0: f32[5, 2, 12]) -> (f32[2, 2, 5, 2]) {
    %1 = slice(%0) {begin = [0, 0, 4], end = [5, 2, 8]} : f32[5, 2, 4]
    %2 = reshape(%1) {shape = shape[5, 4, 2]} : f32[5, 4, 2]
    %3 = transpose(%2) {permutation = [1, 0, 2]} : f32[4, 5, 2]
    %4 = reshape(%3) {shape = shape[2, 2, 5, 2]} : f32[2, 2, 5, 2]
    return %4
  })");
  const auto views = views_of(function, function.results()[0]);
  ASSERT_EQ(views.size(), 5u);
  EXPECT_EQ(views[0].base(), function.parameters()[0]);
  EXPECT_EQ(views[0].first(), 4);
  EXPECT_EQ(views[0].strides(),
            (ViewStrides{{2, 12}, {2, 2}, {5, 24}, {2, 1}}));
  EXPECT_EQ(views.back().base(), function.results()[0]);
  EXPECT_EQ(views.back().strides(), (ViewStrides{{40, 1}}));
}

TEST(StridedView, EndsAtWhatComputes) {
  const Function function =
      function_of(R"(func @f(%0: f32[4, 6]) -> (f32[6, 4]) {
    %1 = negate(%0) : f32[4, 6]
    %2 = transpose(%1) {permutation = [1, 0]} : f32[6, 4]
    return %2
  })");
  const auto views = views_of(function, function.results()[0]);
  ASSERT_EQ(views.size(), 2u);
  EXPECT_EQ(views[0].base(), function.nodes()[0].outputs[0]);
  EXPECT_EQ(views[0].strides(), (ViewStrides{{6, 1}, {4, 6}}));
}

TEST(StridedView, LeavesOutSlicesThatSkip) {
  const Function function =
      function_of(R"(func @f(%0: f32[4, 6]) -> (f32[2, 6]) {
    %1 = slice(%0) {begin = [0, 0], end = [4, 6], steps = [2, 1]} : f32[2, 6]
    return %1
  })");
  EXPECT_EQ(views_of(function, function.results()[0]).size(), 1u);
}

}  // namespace
}  // namespace weft::strided_view_test
