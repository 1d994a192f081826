// einsum against a loop over all labels, and what it says about equations that
// do not fit.
#include <map>

#include "tests/support/exact.h"
#include "tests/support/op_case.h"

#include "weft/ops/support/equation.h"

namespace weft::testing::einsum_test {
namespace {

Error failure(const std::string& why) {
  return Error(ErrorCode::kInvalidArgument, "einsum", "{}", why);
}

// The element that the labels' places name; an axis of size 1 stays at 0.
double element(const Tensor& x, const Labels& labels,
               const std::map<Label, Dim>& places) {
  std::int64_t index = 0;
  for (int axis = 0; axis < x.shape().rank(); ++axis) {
    const Dim place = places.at(labels[static_cast<std::size_t>(axis)]);
    index = index * x.shape()[axis] + (x.shape()[axis] == 1 ? 0 : place);
  }
  return x.item(index);
}

std::vector<double> by_a_loop(const std::string& text,
                              const std::vector<Tensor>& operands) {
  std::vector<Shape> shapes;
  for (const Tensor& x : operands) shapes.push_back(x.shape());
  const Equation equation = read_equation(text, shapes, failure);
  std::int64_t size = 1;
  for (const Label label : equation.result) size *= equation.sizes.at(label);
  std::vector<double> sums(static_cast<std::size_t>(size));
  std::int64_t count = 1;
  for (const auto& [label, dim] : equation.sizes) count *= dim;
  for (std::int64_t i = 0; i < count; ++i) {
    std::map<Label, Dim> places;
    std::int64_t rest = i;
    for (const auto& [label, dim] : equation.sizes) {
      places[label] = rest % dim;
      rest /= dim;
    }
    double product = 1;
    for (std::size_t n = 0; n < operands.size(); ++n) {
      product *= element(operands[n], equation.operands[n], places);
    }
    std::int64_t to = 0;
    for (const Label label : equation.result) {
      to = to * equation.sizes.at(label) + places.at(label);
    }
    sums[static_cast<std::size_t>(to)] += product;
  }
  return sums;
}

void expect_equals_a_loop(const std::string& equation,
                          const std::vector<Shape>& shapes) {
  SCOPED_TRACE(equation);
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    tensors.push_back(random_tensor({{DType::kF64, shapes[i]}, -1, 1}, i + 1));
  }
  const Tensor y =
      einsum(equation, std::vector<Value>(tensors.begin(), tensors.end()))
          .tensor();
  const std::vector<double> expected = by_a_loop(equation, tensors);
  ASSERT_EQ(y.size(), static_cast<std::int64_t>(expected.size()));
  for (std::int64_t i = 0; i < y.size(); ++i) {
    EXPECT_NEAR(y.item(i), expected[static_cast<std::size_t>(i)], 1e-12);
  }
}

TEST(Einsum, EqualsALoop) {
  expect_equals_a_loop("ij,jk->ik", {{3, 4}, {4, 5}});
  expect_equals_a_loop("ji,kj->ki", {{4, 3}, {5, 4}});
  expect_equals_a_loop("ij,jk", {{3, 4}, {4, 5}});
  expect_equals_a_loop("ba,cb", {{3, 4}, {5, 3}});
  expect_equals_a_loop("i,i->", {{7}, {7}});
  expect_equals_a_loop("i,i->i", {{7}, {7}});
  expect_equals_a_loop("i->", {{7}});
  expect_equals_a_loop("ijk->kji", {{2, 3, 4}});
  expect_equals_a_loop("ii", {{4, 4}});
  expect_equals_a_loop("iji->ij", {{3, 2, 3}});
  expect_equals_a_loop("iii->i", {{3, 3, 3}});
  expect_equals_a_loop("abcd,cdef->abef", {{2, 3, 4, 5}, {4, 5, 2, 3}});
  expect_equals_a_loop("abcd,dcbe->ae", {{2, 3, 4, 5}, {5, 4, 3, 2}});
  expect_equals_a_loop("bhqd,bkhd->bhqk", {{2, 3, 4, 5}, {2, 6, 3, 5}});
  expect_equals_a_loop("ab,bc,cd,de->ae", {{2, 9}, {9, 3}, {3, 8}, {8, 2}});
  expect_equals_a_loop("a,b,c->cba", {{2}, {3}, {4}});
  expect_equals_a_loop("ab,ac,ad->bcd", {{2, 3}, {2, 4}, {2, 5}});
  expect_equals_a_loop("ii,ij,jj->j", {{3, 3}, {3, 4}, {4, 4}});
  expect_equals_a_loop(" i j , j k -> i k ", {{3, 4}, {4, 5}});
  expect_equals_a_loop("abcdefgi,abcdefgh->abcdefgh",
                       {{1, 2, 1, 2, 1, 2, 1, 3}, {1, 2, 1, 2, 1, 2, 1, 2}});
  expect_equals_a_loop("abcdefgi,abcdefgi->abcdefg",
                       {{1, 2, 1, 2, 1, 2, 2, 3}, {1, 2, 1, 2, 1, 2, 2, 3}});
  expect_equals_a_loop("abcdefgi,i->abcdefg", {{1, 2, 1, 2, 1, 2, 2, 3}, {3}});
}

TEST(Einsum, StretchesDotsAndOnes) {
  expect_equals_a_loop("...ij,...jk->...ik", {{2, 3, 4}, {2, 4, 5}});
  expect_equals_a_loop("...ij,jk->...ik", {{2, 6, 3, 4}, {4, 5}});
  expect_equals_a_loop("...ij,...jk->i...k", {{6, 3, 4}, {2, 1, 4, 5}});
  expect_equals_a_loop("i...,...", {{3, 2}, {4, 2}});
  expect_equals_a_loop("...->...", {{3, 2}});
  expect_equals_a_loop("ij,ij->ij", {{3, 1}, {1, 4}});
  expect_equals_a_loop("ij,jk->ik", {{3, 1}, {4, 5}});
  expect_equals_a_loop("i,i->", {{1}, {1}});
}

// Cheapest pairs first: from the left, the chain would take 200 times as long.
TEST(Einsum, ComputesTheCheapestPairFirst) {
  const OpDef& op = op_registry().get("einsum");
  const OpSample sample{{{{DType::kF32, {1000, 2}}},
                         {{DType::kF32, {2, 1000}}},
                         {{DType::kF32, {1000, 1}}}},
                        {{"equation", std::string("ij,jk,kl->il")}}};
  const OpCase chain(op, sample, 1);
  EXPECT_LT(op.cost()(chain.call()).flops, 2e4);
}

TEST(Einsum, NamesTheLabelThatDoesNotFit) {
  const auto message = [](const std::string& equation,
                          const std::vector<Shape>& shapes) {
    return message_of([&] { read_equation(equation, shapes, failure); });
  };
  const auto expect = [&](const std::string& equation,
                          const std::vector<Shape>& shapes,
                          const std::string& part) {
    const std::string text = message(equation, shapes);
    EXPECT_NE(text.find(part), text.npos) << text;
  };
  expect("ij,jk->ik", {{3, 4}, {5, 6}}, "label 'j' is 4, but 5 in operand 1");
  expect("ij->ijk", {{3, 4}}, "label 'k' of the result is in no operand");
  expect("ij->ii", {{3, 4}}, "label 'i' is in the result twice");
  expect("ii", {{3, 4}}, "label 'i' is 3, but 4 in operand 0");
  expect("ijk->i", {{3, 4}}, "operand 0 has 2 axes, but 'ijk' names 3");
  expect("ij,jk->ik", {{3, 4}}, "has 2 terms, but there are 1 operands");
  expect("i1->i", {{3, 4}}, "'1' in 'i1' is no letter");
  expect("...i->i", {{3, 4}}, "the result has no '...'");
  expect("...i,...i->...", {{3, 4}, {2, 4}},
         "axis -1 of '...' is 3, but 2 in operand 1");
}

}  // namespace
}  // namespace weft::testing::einsum_test
