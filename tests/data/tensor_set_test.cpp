#include "weft/data/tensor_set.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/values.h"

namespace weft::tensor_set_test {
namespace {

using test::expect_error;

Tensor labels(std::initializer_list<std::int32_t> values) {
  return Tensor::of<std::int32_t>({static_cast<Dim>(values.size())}, values);
}

TEST(TensorSet, ReadsTheRowsOfItsTensors) {
  const DatasetRef set = tensor_set(
      "points", {{"point", Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6})},
                 {"label", labels({0, 2, 1})}});
  EXPECT_EQ(set->size(), 3);
  EXPECT_EQ(set->features()[0].type, (TensorType{DType::kF32, {2}}));
  EXPECT_EQ(set->classes(), (std::vector<std::string>{"0", "1", "2"}));
  const Tensor points = Tensor::zeros({DType::kF32, {2, 2}});
  const Tensor found = Tensor::zeros({DType::kI32, {2}});
  set->read(std::vector<std::int64_t>{2, 0},
            std::vector<TensorView>{points.view(), found.view()});
  EXPECT_EQ(test::numbers(points), (std::vector<double>{5, 6, 1, 2}));
  EXPECT_EQ(test::numbers(found), (std::vector<double>{1, 0}));
}

TEST(TensorSet, KnowsTargetsAndPixels) {
  const DatasetRef set = tensor_set(
      "pictures", {{"image", Tensor::zeros({DType::kU8, {2, 4, 4, 3}})},
                   {"age", Tensor::of<float>({2}, {10, 30})}});
  EXPECT_EQ(set->pixel_scale().std, (std::vector<float>{255, 255, 255}));
  EXPECT_EQ(set->target_scale().mean, 20);
  EXPECT_EQ(set->target_scale().std, 10);
  EXPECT_TRUE(set->classes().empty());
}

TEST(TensorSet, RefusesWhatIsNoSet) {
  const auto refused = [](std::vector<TensorFeature> features,
                          std::initializer_list<std::string> parts,
                          std::vector<std::string> classes = {}) {
    expect_error(ErrorCode::kInvalidArgument, parts, [&] {
      tensor_set("points", std::move(features), std::move(classes));
    });
  };
  const Tensor points = Tensor::zeros({DType::kF32, {3, 2}});
  refused({}, {"points", "no features"});
  refused({{"point", Tensor::zeros({DType::kF32, {0, 2}})}}, {"no examples"});
  refused({{"point", Tensor::scalar(1.0f)}},
          {"'point' is f32[]", "first axis"});
  refused({{"point", points}, {"label", labels({1, 2})}},
          {"'point' has 3 examples, and 'label' has 2"});
  refused({{"point", points}, {"label", labels({0, -1, 1})}},
          {"label -1 is none of 2 classes"});
  refused({{"point", points}, {"label", labels({0, 1, 2})}},
          {"label 2 is none of 2 classes"}, {"left", "right"});
  refused({{"point", points}, {"label", labels({0, 1, 2147483647})}},
          {"label 2147483647 is none of 1048576 classes", "without names"});
}

}  // namespace
}  // namespace weft::tensor_set_test
