#include "weft/serve/served_model.h"

#include <gtest/gtest.h>

#include "tests/serve/models.h"
#include "tests/support/errors.h"

namespace weft::served_model_test {
namespace {

using serve::ModelOptions;
using serve::Request;
using serve::RequestRef;
using serve::ServedModel;
using serve::Status;
using test::TemporaryFolder;

RequestRef request(const ServedModel& model, const Tensor& input) {
  auto made = std::make_shared<Request>();
  made->inputs = {input};
  model.admit(*made);
  return made;
}

TEST(ServedModel, RowsOfRequestsShareARun) {
  const TemporaryFolder folder;
  ServedModel model("scale", "1", test::export_scale(folder, "scale.weft"), {});
  EXPECT_FALSE(model.alone_because()) << *model.alone_because();
  EXPECT_EQ(model.most_rows(), 32);
  EXPECT_EQ(model.inputs()[0].name, "arg0");
  EXPECT_EQ(model.outputs()[0].name, "result0");
  const std::vector batch{
      request(model, Tensor::of<float>({1, 2}, {1, 2})),
      request(model, Tensor::of<float>({2, 2}, {3, 4, 5, 6}))};
  ServedModel::BatchReport report;
  const auto outcomes = model.run(batch, report);
  EXPECT_TRUE(
      identical(outcomes[0].results[0], Tensor::of<float>({1, 2}, {10, 200})));
  EXPECT_TRUE(identical(outcomes[1].results[0],
                        Tensor::of<float>({2, 2}, {30, 400, 50, 600})));
  EXPECT_EQ(report.padding, 1);
}

TEST(ServedModel, RowsArePaddedToPowersOfTwo) {
  EXPECT_EQ(serve::padded_rows(1), 1);
  EXPECT_EQ(serve::padded_rows(3), 4);
  EXPECT_EQ(serve::padded_rows(32), 32);
  EXPECT_EQ(serve::padded_rows(33), 64);
}

TEST(ServedModel, ABadNeighbourFailsAlone) {
  const TemporaryFolder folder;
  ServedModel model("lookup", "1", test::export_lookup(folder, "l.weft"), {});
  ASSERT_FALSE(model.alone_because()) << *model.alone_because();
  const std::vector batch{request(model, Tensor::of<std::int64_t>({1}, {2})),
                          request(model, Tensor::of<std::int64_t>({1}, {3}))};
  ServedModel::BatchReport report;
  const auto outcomes = model.run(batch, report);
  EXPECT_TRUE(
      identical(outcomes[0].results[0], Tensor::of<float>({1, 2}, {20, 21})));
  EXPECT_EQ(outcomes[1].status, Status::kBadRequest);
  EXPECT_NE(outcomes[1].message.find('3'), std::string::npos);
}

TEST(ServedModel, WhatAssignsRunsOneByOne) {
  const TemporaryFolder folder;
  ServedModel model("total", "1", test::export_total(folder, "t.weft"), {});
  EXPECT_TRUE(model.is_serial());
  EXPECT_EQ(model.most_rows(), 1);
  EXPECT_NE(model.alone_because()->find("assigns"), std::string::npos);
  // What is warmed up is not counted.
  model.warm_up(4);
  ServedModel::BatchReport report;
  for (const float expected : {2.0f, 4.0f}) {
    const std::vector batch{request(model, Tensor::scalar(2.0f))};
    EXPECT_EQ(model.run(batch, report)[0].results[0].item(), expected);
  }
}

TEST(ServedModel, RefusesWhatDoesNotFit) {
  const TemporaryFolder folder;
  const ServedModel model("scale", "1",
                          test::export_scale(folder, "scale.weft"), {});
  const auto refuse = [&](const Tensor& input, const std::string& part) {
    test::expect_error(ErrorCode::kInvalidArgument,
                       {"inputs[0]", "f32[N, 2]", part},
                       [&] { request(model, input); });
  };
  refuse(Tensor::zeros({DType::kF32, {1, 3}}), "f32[1, 3]");
  refuse(Tensor::zeros({DType::kF64, {1, 2}}), "f64[1, 2]");
  test::expect_error(ErrorCode::kInvalidArgument, {"no elements"}, [&] {
    request(model, Tensor::zeros({DType::kF32, {0, 2}}));
  });
}

TEST(ServedModel, WarmsUpListedShapes) {
  const TemporaryFolder folder;
  const auto path = test::export_scale(folder, "scale.weft");
  ServedModel model("scale", "1", path, {.warm_up = {{{"N", 3}}}});
  model.warm_up(2);
  ServedModel open("scale", "1", path, {.warm_up = {{{"T", 3}}}});
  test::expect_error(ErrorCode::kInvalidArgument, {"leaves dims"},
                     [&] { open.warm_up(2); });
}

TEST(ServedModel, OutlivesItsFile) {
  const TemporaryFolder folder;
  const auto path = test::export_scale(folder, "scale.weft");
  ServedModel model("scale", "1", path, {});
  // As `cp` does it: the same file, shorter for a moment.
  std::filesystem::resize_file(path, 0);
  ServedModel::BatchReport report;
  const std::vector batch{request(model, Tensor::of<float>({1, 2}, {1, 2}))};
  EXPECT_TRUE(identical(model.run(batch, report)[0].results[0],
                        Tensor::of<float>({1, 2}, {10, 200})));
}

}  // namespace
}  // namespace weft::served_model_test
