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
    // Gradients, which training has.
    "avg_pool_gradient", "conv2d_weight_gradient", "max_pool_gather",
    "max_pool_scatter", "resize_gradient", "cross_entropy",
    "cross_entropy_gradient", "pick_scatter", "scatter_add", "unslice",
    "add_rows", "coalesce_rows", "attention_gradient", "custom_gradient",
    "seed_like", "softmax_gradient",
    // Random numbers by Philox.
    "bernoulli", "categorical", "dropout", "gumbel", "normal", "permutation",
    "randint", "split_key", "uniform",
    // Other ranks.
    "all_gather", "all_reduce", "reduce_scatter",
    // Functions that ONNX has not.
    "atan2", "cholesky", "eigh", "irfft", "nms", "qr", "rfft",
    "shift_left", "shift_right", "svd", "triangular_solve", "moments",
    "dynamic_update_slice"};

// How many of the results ONNX has.
const std::map<std::string, std::size_t> kResults = {
    {"max_pool", 1}, {"lstm", 3}, {"gru", 2}};

Function function_of(const OpCase& c) {
  FunctionBuilder builder("f", /*lower_composites=*/false);
  std::vector<Value> inputs;
  for (const TensorType& type : c.input_types()) {
    inputs.push_back(builder.parameter(type, fmt::format("x{}", inputs.size())));
  }
  return builder.build([&] {
    auto results = call_all(c.op(), inputs, c.attributes(), {});
    const auto count = kResults.find(c.op().name());
    if (count != kResults.end()) results.resize(count->second);
    return results;
  });
}

TEST(OnnxRoundTrip, OfEveryOp) {
  const test::TemporaryFolder folder;
  const auto path = folder / "model.onnx";
  std::set<std::string> failed;
  for_each_case([&](const OpCase& c) {
    if (kNotExported.contains(c.op().name())) return;
    const Function function = function_of(c);
    GraphFunction original(Graph{{function}}, "f", {});
    export_onnx(path, original);
    const auto again = import_onnx(path);
    const auto results = test::call(*again, c.inputs());
    const auto expected = test::call(original, c.inputs());
    ASSERT_EQ(results.size(), expected.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      expect_close(results[i], expected[i], c.reduction_length());
    }
  });
}

// The list above may not grow stale.
TEST(OnnxRoundTrip, WhatIsNotExportedSaysSo) {
  const test::TemporaryFolder folder;
  std::set<std::string> seen;
  for_each_case([&](const OpCase& c) {
    const std::string& name = c.op().name();
    if (!kNotExported.contains(name) || !seen.insert(name).second) return;
    EXPECT_EQ(c.op().onnx(), nullptr) << name;
    GraphFunction function(Graph{{function_of(c)}}, "f", {});
    test::expect_error(ErrorCode::kUnsupported,
                       {"model.onnx", "cannot be exported", name}, [&] {
                         export_onnx(folder / "model.onnx", function);
                       });
  });
}

}  // namespace
}  // namespace weft::testing::onnx_round_trip_test
