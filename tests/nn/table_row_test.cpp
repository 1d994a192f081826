#include "weft/nn/table_row.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/values.h"

#include "weft/nn/model.h"

namespace weft::table_row_test {
namespace {

using test::near;

// A number, a category of 2 and one of 3; the second row knows neither.
const Tensor& rows() {
  static const Tensor rows =
      Tensor::of<float>({2, 3}, {0.5f, 1, 2, -0.5f, -1, -1});
  return rows;
}

TEST(TableRow, MakesCategoriesOnesAmongZeros) {
  nn::TableRow row(1, {2, 3}, 0);
  EXPECT_EQ(row.outputs(), 6);
  EXPECT_EQ(row.parameter_count(), 0);
  EXPECT_TRUE(near(row(rows()).tensor(),
                   Tensor::of<float>({2, 6}, {0.5f, 0, 1, 0, 0, 1,  //
                                              -0.5f, 0, 0, 0, 0, 0}),
                   0));
}

TEST(TableRow, LooksCategoriesUpInOneTable) {
  nn::TableRow row(1, {2, 3}, 2);
  EXPECT_EQ(row.outputs(), 5);
  nn::find_parameter(row, "weight")
      ->variable.set_tensor(
          Tensor::of<float>({5, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  EXPECT_TRUE(near(row(rows()).tensor(),
                   Tensor::of<float>({2, 5}, {0.5f, 3, 4, 9, 10,  //
                                              -0.5f, 0, 0, 0, 0}),
                   0));
}

TEST(TableRow, TakesRowsWithoutNumbers) {
  const Tensor names = Tensor::of<float>({2, 1}, {1, -1});
  nn::TableRow ones(0, {2}, 0);
  EXPECT_TRUE(
      near(ones(names).tensor(), Tensor::of<float>({2, 2}, {0, 1, 0, 0}), 0));
  nn::TableRow vectors(0, {2}, 3);
  vectors.initialize(1);
  EXPECT_EQ(vectors(names).shape(), (Shape{2, 3}));
}

TEST(TableRow, LeavesRowsOfNumbersAlone) {
  nn::TableRow row(3, {}, 4);
  EXPECT_EQ(row.outputs(), 3);
  EXPECT_TRUE(identical(row(rows()).tensor(), rows()));
}

TEST(BuildModel, RefusesCategoriesForAModelThatKnowsNoneOfThem) {
  const ModelInput input{.example = {12}, .classes = 2, .categories = {3, 4}};
  test::expect_error(ErrorCode::kInvalidArgument, {"2 columns", "mlp"}, [&] {
    build_model(model_registry().get("mnist-cnn"), input, {});
  });
  const auto model = build_model(model_registry().get("mlp"), input,
                                 {{"hidden", std::vector<std::int64_t>{5}}});
  model->initialize(1);
  // 10 numbers and 7 categories.
  EXPECT_EQ(nn::find_parameter(*model, "fc1.weight")->type().shape,
            (Shape{17, 5}));
}

}  // namespace
}  // namespace weft::table_row_test
