#include <cmath>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/exact.h"

#include "weft/nn/nn.h"
#include "weft/nn/view.h"
#include "weft/ops/ops.h"
#include "weft/runtime/eager.h"
#include "weft/runtime/jit/jit.h"

namespace weft::views_test {
namespace {

using test::expect_error;
using testing::boolean;
using testing::contents;
using testing::f32;

// A matrix without bias, of given weights, whose product with the identity is
// what the model sees of them.
class Views : public ::testing::Test {
 protected:
  void view(const Value& weight, const std::string& text) {
    const Shape& shape = weight.shape();
    layer_ = std::make_unique<nn::Linear>(shape[0], shape[1],
                                          nn::LinearOptions{.bias = false});
    layer_->initialize(1);
    own().set_tensor(weight.tensor().clone());
    nn::view_parameters(*layer_, {{"weight", text}}, 7);
  }
  Variable& own() {
    return layer_->declared_parameters()[0].parameter->variable;
  }
  Tensor part(const std::string& name) const {
    return nn::find_parameter(*layer_, "weight." + name)->variable.tensor();
  }
  Value seen() const {
    return nn::value_of(layer_->declared_parameters()[0].parameter);
  }
  // The gradient of the sum of what is seen times `factors`.
  Value gradient(const Variable& parameter, const Value& factors) {
    Tape tape;
    const Value by = parameter.read();
    const Value loss = sum(seen() * factors);
    return tape.gradient(loss, {&by, 1})[0];
  }

  std::unique_ptr<nn::Linear> layer_;
};

TEST_F(Views, QuantizedHasEvenlySpacedLevels) {
  view(f32({2, 3}, {0, 0.2F, 0.4F, 0.6F, 0.9F, 1}), "quantized(bits=1)");
  EXPECT_TENSOR(seen(), f32({2, 3}, {0, 0, 0, 1, 1, 1}));
  view(f32({2, 3}, {0, 0.2F, 0.4F, 0.6F, 0.9F, 3}), "quantized(bits=2)");
  EXPECT_TENSOR(seen(), f32({2, 3}, {0, 0, 0, 1, 1, 3}));
}

TEST_F(Views, QuantizedBucketsHaveLevelsOfTheirOwn) {
  // The second bucket has equal elements, the third is filled up.
  view(f32({1, 5}, {1, 3, 7, 7, -2}), "quantized(bits=1, bucket=2)");
  EXPECT_TENSOR(seen(), f32({1, 5}, {1, 3, 7, 7, -2}));
  view(f32({1, 5}, {1, 3, 7, 7.5F, -2}), "quantized(bits=1, bucket=3)");
  EXPECT_TENSOR(seen(), f32({1, 5}, {1, 1, 7, 7.5F, -2}));
}

TEST_F(Views, QuantizedTwiceIsQuantizedOnce) {
  Value weight = Value(
      nn::initial_value({DType::kF32, {13, 11}}, nn::Init::normal(1), 3, "w"));
  view(weight, "quantized(bits=3, bucket=50)");
  const Value once = seen();
  view(once, "quantized(bits=3, bucket=50)");
  EXPECT_TENSOR(seen(), once);
}

TEST_F(Views, QuantizedBucketWithNanIsNan) {
  view(f32({1, 4}, {1, NAN, 2, 3}), "quantized(bits=1, bucket=2)");
  EXPECT_TENSOR(seen(), f32({1, 4}, {NAN, NAN, 2, 3}));
}

TEST_F(Views, TernaryHasThreeValues) {
  // The mean size is 1, so that the threshold is 0.7: 2 and 1 are kept.
  view(f32({1, 5}, {2, -1, 0.5F, -0.5F, 1}), "ternary");
  const auto a = static_cast<float>(4.0 / 3);
  EXPECT_TENSOR(seen(), f32({1, 5}, {a, -a, 0, 0, a}));
  view(f32({1, 4}, {2, -1, 0.5F, -0.4F}),
       "ternary(threshold=0.4, scaled=false)");
  EXPECT_TENSOR(seen(), f32({1, 4}, {1, -1, 1, 0}));
  view(f32({1, 2}, {0, 0}), "ternary");
  EXPECT_TENSOR(seen(), f32({1, 2}, {0, 0}));
}

TEST_F(Views, MaskedKeepsTheLargest) {
  view(f32({2, 3}, {1, -5, 2, 4, 0, -3}), "masked(density=0.5)");
  EXPECT_TENSOR(part("mask"),
                boolean({2, 3}, {false, true, false, true, false, true}));
  EXPECT_TENSOR(seen(), f32({2, 3}, {0, -5, 0, 4, 0, -3}));
}

TEST_F(Views, MaskedAtRandomKeepsTheShareThatItSays) {
  const Value weight = full({DType::kF32, {20, 30}}, 1);
  view(weight, "masked(density=0.25, by=random)");
  EXPECT_EQ(sum(seen()).tensor().item(), 150);
  const Tensor first = part("mask");
  view(weight, "masked(density=0.25, by=random)");
  EXPECT_TRUE(identical(part("mask"), first));  // by the seed alone
}

TEST_F(Views, GradientsGoStraightThroughOrStopAtTheMask) {
  const Value weight = f32({1, 4}, {4, 0.25F, -3, 0.5F});
  const Value factors = f32({1, 4}, {1, 2, 3, 4});
  for (const char* passing : {"quantized(bits=1)", "ternary", "surgery",
                              "masked(density=0.5, gradient=all)"}) {
    view(weight, passing);
    EXPECT_TENSOR(gradient(own(), factors), factors) << passing;
  }
  view(weight, "masked(density=0.5)");
  EXPECT_TENSOR(gradient(own(), factors), f32({1, 4}, {1, 0, 3, 0}));
}

// Guo, Yao and Chen, equation 3, with the mean and deviation of sizes 2.5 and
// 1.5: below 0.9 times 2.5 an element goes, and above 1.1 times it is back.
TEST_F(Views, SurgeryLetsElementsComeBack) {
  view(f32({1, 2}, {1, 4}), "surgery");
  EXPECT_TENSOR(seen(), f32({1, 2}, {0, 4}));
  // 2.6 of a mean of 2.8 lies between both bounds: what was out stays out, and
  // what was in stays in.
  own().set_tensor(f32({1, 2}, {2.6F, 3}).tensor());
  EXPECT_TENSOR(seen(), f32({1, 2}, {0, 3}));
  own().set_tensor(f32({1, 2}, {3, 2.6F}).tensor());
  EXPECT_TENSOR(seen(), f32({1, 2}, {0, 2.6F}));
  own().set_tensor(f32({1, 2}, {-5, 2.6F}).tensor());
  EXPECT_TENSOR(seen(), f32({1, 2}, {-5, 0}));
  EXPECT_TENSOR(part("mask"), boolean({1, 2}, {true, false}));
  // Only training changes it.
  layer_->train(false);
  own().set_tensor(f32({1, 2}, {1, 5}).tensor());
  EXPECT_TENSOR(seen(), f32({1, 2}, {1, 0}));
}

TEST_F(Views, LowRankBeginsAsTheBestApproximation) {
  const Value weight = Value(
      nn::initial_value({DType::kF32, {6, 4}}, nn::Init::normal(1), 3, "w"));
  view(weight, "low-rank(rank=4)");
  const Value apart = abs(seen() - weight);
  EXPECT_LT(reduce_max(apart).tensor().item(), 1e-5);
  // What is left out are the singular values beyond the rank (Eckart, Young).
  view(weight, "low-rank(rank=2)");
  const Value s = svd(weight)[1];
  const double left_out = std::hypot(s.tensor().item(2), s.tensor().item(3));
  EXPECT_NEAR(std::sqrt(sum(square(seen() - weight)).tensor().item()), left_out,
              1e-5);
  // Both factors are trained, and the matrix is not there any more.
  std::vector<std::string> names;
  for (const auto& named : layer_->parameters()) names.push_back(named.name);
  EXPECT_EQ(names, (std::vector<std::string>{"weight.left", "weight.right"}));
  EXPECT_EQ(layer_->parameter_count(), 6 * 2 + 2 * 4);
  EXPECT_FALSE(own().tensor().is_defined());
}

TEST_F(Views, LowRankHasTheGradientOfItsProduct) {
  view(f32({2, 2}, {3, 0, 0, 1}), "low-rank(rank=1)");
  Variable& left = nn::find_parameter(*layer_, "weight.left")->variable;
  const Value right = part("right");
  const Value factors = f32({2, 2}, {1, 2, 3, 4});
  EXPECT_TENSOR(gradient(left, factors), matmul(factors, transpose(right)));
}

TEST_F(Views, AreTheSameStagedAndInLoops) {
  view(f32({2, 2}, {1, -5, 2, 4}), "masked(density=0.5)");
  const auto twice =
      jit([&](const Value& x) { return (*layer_)((*layer_)(x)); });
  const Value x = f32({1, 2}, {1, 2});
  EXPECT_TENSOR(twice(x), (*layer_)((*layer_)(x)));
}

TEST_F(Views, InitializeGivesPartsTheirFirstValues) {
  view(f32({2, 2}, {1, -5, 2, 4}), "masked(density=0.5)");
  layer_->initialize(3);
  const Value now = own().tensor();
  EXPECT_EQ(sum(cast(Value(part("mask")), DType::kI64)).tensor().item(), 2);
  EXPECT_TENSOR(seen(), where(Value(part("mask")), now, scalar_like(now, 0)));
}

TEST_F(Views, AreRefusedWhereTheyCannotBe) {
  nn::Sequential model{nn::Linear{4, 3}, nn::Linear{3, 2}};
  const auto refused = [&](const std::vector<nn::ViewChoice>& choices,
                           std::initializer_list<std::string> parts) {
    expect_error(ErrorCode::kInvalidArgument, parts,
                 [&] { nn::view_parameters(model, choices); });
    for (const auto& named : model.parameters()) {
      EXPECT_EQ(named.parameter->viewed, nullptr);
    }
  };
  refused({{"*.weight", "ternary"}, {"0.*", "ternary"}},
          {"model.views.1", "both for parameter '0.weight'"});
  refused({{"*.bias", "ternary"}, {"2.weight", "ternary"}},
          {"model.views.1", "no parameter is called '2.weight'",
           "did you mean '0.weight'?"});
  refused({{"*.weight", "ternary"}, {"*.bias", "low-rank(rank=1)"}},
          {"model.views.1", "'0.bias' (f32[3])", "it is no matrix"});
  refused({{"*.weight", "low-rank(rank=3)"}},
          {"model.views.0", "'1.weight'", "at most 2"});
  refused({{"*.bias", "masked(density=0.1)"}},
          {"model.views.0", "'0.bias' (f32[3])", "none of its 3 elements",
           "at least 0.33"});
  refused({{"*.weight", "quantised"}}, {"did you mean 'quantized'?"});
  refused({{"*.weight", "quantized(bits=17)"}}, {"bits", "16"});
  nn::view_parameters(model, {{"0.weight", "ternary"}});
  expect_error(ErrorCode::kInvalidArgument, {"it has a view already"}, [&] {
    nn::view_parameters(model, {{"*.weight", "ternary"}});
  });
}

// A view that somebody has written otherwise than its parameter asks for.
class Misfit : public ParameterView {
 public:
  enum class What { kNothing, kType, kPart, kParts, kFails };
  explicit Misfit(What what) : what_(what) {}

  std::vector<ViewPart> parts(const TensorType& parameter) const override {
    return {{"mask", parameter, nn::Role::kMask}};
  }
  std::vector<Value> next_parts(const Value& parameter,
                                std::span<const Value> parts) const override {
    if (what_ == What::kParts) return {parts[0], parts[0]};
    return {what_ == What::kPart ? cast(parameter, DType::kI32) : parts[0]};
  }
  Value value(const TensorType&, const Value& parameter,
              std::span<const Value> parts) const override {
    if (what_ == What::kType) return transpose(parameter);
    if (what_ == What::kFails) return matmul(parameter, parts[0]);
    return parameter * parts[0];
  }

 private:
  What what_;
};

TEST(ViewDeclines, WhatDoesNotFitItsParameter) {
  using What = Misfit::What;
  const TensorType type{DType::kF32, {3, 2}};
  const auto reason = [&](What what) {
    return declines(Misfit(what), type).value_or("");
  };
  EXPECT_EQ(reason(What::kNothing), "");
  EXPECT_EQ(reason(What::kType),
            "what it makes of it is f32[2, 3], where f32[3, 2] is due");
  EXPECT_EQ(reason(What::kPart),
            "its next 'mask' is i32[3, 2], where f32[3, 2] is due");
  EXPECT_EQ(reason(What::kParts), "it changes 2 of its 1 parts");
  EXPECT_NE(reason(What::kFails).find("computing it fails"), std::string::npos);
  EXPECT_EQ(declines(Misfit(What::kNothing), {DType::kF32, {0, 2}}),
            "it has no elements");
}

TEST(StraightThrough, ComputesTheFunctionAndPassesGradients) {
  const Variable x(f32({3}, {0.2F, 1.7F, -2.2F}).tensor());
  Tape tape;
  const Value own = x.read();
  const Value y = nn::straight_through(
      own, [](const Value& value) { return round(value); });
  EXPECT_TENSOR(y, f32({3}, {0, 2, -2}));
  EXPECT_TENSOR(tape.gradient(sum(square(y)), {&own, 1})[0],
                f32({3}, {0, 4, -4}));
}

}  // namespace
}  // namespace weft::views_test
