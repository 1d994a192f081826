// Every op on each of its samples, written as ONNX and read again: it computes
// what its definition does.
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "tests/support/errors.h"
#include "tests/support/onnx_models.h"
#include "tests/support/op_case.h"
#include "tests/support/temporary_folder.h"

#include "weft/graph/builder.h"
#include "weft/onnx/onnx.h"

namespace weft::testing::onnx_round_trip_test {
namespace {

// What ONNX cannot say, or nobody needs in a model that is in use.
const std::set<std::string> kNotExported = {
    // What training needs beside gradients that are made of other ops.
    "add_rows", "avg_pool_gradient", "coalesce_rows", "conv2d_weight_gradient",
    "image_patches", "cross_entropy", "cross_entropy_gradient",
    "max_pool_gather", "max_pool_scatter", "pick_scatter", "resize_gradient",
    "scatter_add", "seed_like", "unslice",
    // Random numbers by Philox.
    "bernoulli", "categorical", "dropout", "gumbel", "normal", "permutation",
    "randint", "split_key", "uniform",
    // Other ranks.
    "all_gather", "all_reduce", "reduce_scatter",
    // Functions that ONNX has not, at least in the opset that is written.
    "atan2", "cholesky", "cumprod", "dynamic_update_slice", "eigh", "irfft",
    "linear_recurrence", "lu", "nms", "qr", "rfft", "shift_left", "shift_right",
    "svd", "triangular_solve"};

// Calls of other ops that ONNX has not: slices and rows for each instance.
bool is_batched(const OpCase& c) {
  const std::string& name = c.op().name();
  return (name == "scatter_nd" && c.attributes().integer("batch_dims") != 0) ||
         (name == "dynamic_slice" && c.input_types()[1].shape.rank() != 1);
}

// How many of the results ONNX has.
const std::map<std::string, std::size_t> kResults = {
    {"max_pool", 1}, {"lstm", 3}, {"gru", 2}};

// The op on the inputs of all of its cases, as one function.
Function function_of(const std::vector<OpCase>& cases) {
  FunctionBuilder builder("f", /*lower_composites=*/false);
  std::vector<std::vector<Value>> inputs;
  for (const OpCase& c : cases) {
    inputs.emplace_back();
    for (const TensorType& type : c.input_types()) {
      inputs.back().push_back(builder.parameter(type));
    }
  }
  return builder.build([&] {
    std::vector<Value> all;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      auto results =
          call_all(cases[i].op(), inputs[i], cases[i].attributes(), {});
      const auto count = kResults.find(cases[i].op().name());
      if (count != kResults.end()) results.resize(count->second);
      all.insert(all.end(), results.begin(), results.end());
    }
    return all;
  });
}

std::map<std::string, std::vector<OpCase>> cases_by_op() {
  std::map<std::string, std::vector<OpCase>> cases;
  for_each_case([&](const OpCase& c) {
    if (!is_batched(c)) cases[c.op().name()].push_back(c);
  });
  return cases;
}

TEST(OnnxRoundTrip, OfEveryOp) {
  const test::TemporaryFolder folder;
  const auto path = folder / "model.onnx";
  for (const auto& [name, cases] : cases_by_op()) {
    if (kNotExported.contains(name)) continue;
    SCOPED_TRACE(name);
    std::vector<Tensor> inputs;
    std::vector<double> lengths;
    for (const OpCase& c : cases) {
      inputs.insert(inputs.end(), c.inputs().begin(), c.inputs().end());
      const auto count = kResults.find(name);
      lengths.insert(
          lengths.end(),
          count == kResults.end() ? c.output_types().size() : count->second,
          c.reduction_length());
    }
    try {
      GraphFunction original(Graph{{function_of(cases)}}, "f", {});
      export_onnx(path, original);
      const auto again = import_onnx(path);
      const auto results = test::call(*again, inputs);
      const auto expected = test::call(original, inputs);
      ASSERT_EQ(results.size(), expected.size());
      for (std::size_t i = 0; i < results.size(); ++i) {
        expect_close(results[i], expected[i], lengths[i]);
      }
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

// A model and its weights beside it are replaced together: other weights have
// another name, and those of before are there until the model is.
TEST(OnnxRoundTrip, WeightsBesideAModelAreItsOwn) {
  const test::TemporaryFolder folder;
  const auto path = folder / "net.onnx";
  const auto adding = [&](float number) {
    test::OnnxModel model;
    model.input("x", {DType::kF32, {20}})
        .tensor("w", Tensor::of<float>({20}, std::vector<float>(20, number)))
        .node("Add", {"x", "w"}, {"y"})
        .output("y");
    model.save(folder / "given.onnx");
    return import_onnx(folder / "given.onnx");
  };
  const auto data = [&] {
    std::vector<std::string> names;
    for (const auto& each :
         std::filesystem::directory_iterator(folder.path())) {
      const std::string name = each.path().filename().string();
      if (name.ends_with(".data")) names.push_back(name);
    }
    std::ranges::sort(names);
    return names;
  };
  folder.write("net.onnx.mine.data", "not ours");
  std::vector<std::string> before;
  for (const float number : {1.0f, 2.0f}) {
    export_onnx(path, *adding(number), {.external_data = true});
    const std::vector<std::string> now = data();
    EXPECT_EQ(now.size(), 2u);
    EXPECT_NE(now, before);
    before = now;
    const Tensor x = Tensor::zeros({DType::kF32, {20}});
    EXPECT_EQ(test::call(*import_onnx(path), {x})[0].item(0), number);
  }
  export_onnx(path, *adding(3));
  EXPECT_EQ(data(), std::vector<std::string>{"net.onnx.mine.data"});
}

// The list above may not grow stale.
TEST(OnnxRoundTrip, WhatIsNotExportedSaysSo) {
  const test::TemporaryFolder folder;
  const auto all = cases_by_op();
  for (const std::string& name : kNotExported) {
    SCOPED_TRACE(name);
    GraphFunction function(Graph{{function_of({all.at(name).front()})}}, "f",
                           {});
    test::expect_error(ErrorCode::kUnsupported,
                       {"model.onnx", "cannot be exported"},
                       [&] { export_onnx(folder / "model.onnx", function); });
  }
}

}  // namespace
}  // namespace weft::testing::onnx_round_trip_test
