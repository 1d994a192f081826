#include "weft/files/exported.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/exact.h"
#include "tests/support/temporary_folder.h"

#include "weft/comm/graph/exported_ranks.h"
#include "weft/comm/transport/thread.h"
#include "weft/files/optimized.h"
#include "weft/files/safetensors.h"
#include "weft/nn/linear.h"
#include "weft/runtime/host_func.h"
#include "weft/runtime/jit/jit.h"

namespace weft::exported_test {
namespace {

using test::expect_error;
using test::TemporaryFolder;
using testing::contents;
using testing::f32;

TEST(Exported, RunsWithoutTheProgramThatMadeIt) {
  const TemporaryFolder folder;
  const auto path = folder / "model.weft";
  Value expected;
  const Value x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  {
    nn::Linear layer(3, 2);
    layer.initialize(1);
    const Value scale = f32({2}, {10, 100});
    const auto predict = jit(
        [&](const Value& input) { return softmax(layer(input) * scale + 1); },
        {.name = "predict", .signature = {{{DType::kF32, {symbol("N"), 3}}}}});
    expected = predict(x);
    export_function(path, *predict.graph(x));
  }
  ExportedFunction function(path);
  ASSERT_EQ(function.arguments().size(), 1u);
  EXPECT_EQ(function.arguments()[0].name, "arg0");
  EXPECT_EQ(to_string(function.arguments()[0].type), "f32[N, 3]");
  EXPECT_TENSOR(Value(function.run({x.tensor()})[0]), expected);
  EXPECT_EQ(function.run({f32({1, 3}, {0, 0, 0}).tensor()})[0].shape(),
            (Shape{1, 2}));
  expect_error(ErrorCode::kInvalidArgument, {"1 arguments, got 0"},
               [&] { function.run({}); });
}

TEST(Exported, RunsInParts) {
  const TemporaryFolder folder;
  const Variable scale(Tensor::scalar(3.0f), {.name = "scale"});
  const auto triple =
      jit([&](const Value& x) { return x * scale.read(); }, {.name = "triple"});
  const auto whole = jit([&](const Value& x) { return triple(x) + 1; });
  const Value two = Tensor::scalar(2.0f);
  whole(two);
  const auto path = folder / "x.weft";
  export_function(path, *whole.graph(two));
  const auto counted = jit([&](const Value& x) {
    scale.assign_add(x);
    return scale.read();
  });
  counted(two);
  export_function(folder / "counted.weft", *counted.graph(two));
  ThreadWorld world(2);
  world.run([&](Transport& transport) {
    ExportedFunction function(path);
    std::string said;
    const auto results = run_parts(function, {two.tensor()},
                                   {.placement = "triple=1"}, transport, said);
    EXPECT_EQ(said, "");
    ASSERT_EQ(results.size(), 1u);
    if (transport.rank() == 0) {
      EXPECT_EQ(results[0].item(), 7);
    } else {
      EXPECT_FALSE(results[0].is_defined());
    }
    // What the function captured may be elsewhere than where it computes.
    const auto sent = run_parts(function, {two.tensor()},
                                {.placement = "*=0",
                                 .weights = {1},
                                 .order = ReceiveOrder::kTac,
                                 .topology = "2@50us,25MB/s",
                                 .times = 2},
                                transport, said);
    if (transport.rank() == 0) {
      EXPECT_EQ(sent.at(0).item(), 7);
      EXPECT_EQ(std::ranges::count(said, '\n'), 2);
      EXPECT_NE(said.find("received 1 values"), std::string::npos) << said;
      EXPECT_NE(said.find(" expected\n"), std::string::npos) << said;
    }
    ExportedFunction assigns(folder / "counted.weft");
    expect_error(
        ErrorCode::kUnsupported, {"declines several ranks", "scale'"},
        [&] { run_parts(assigns, {two.tensor()}, {}, transport, said); });
  });
}

TEST(Exported, VariablesGoOnFromWhereTheyWere) {
  const TemporaryFolder folder;
  const Variable count(Tensor::scalar(5.0f), {.name = "count"});
  const auto step = jit([&](const Value& x) {
    count.assign_add(x);
    return count.read() * 2;
  });
  const Value one = Tensor::scalar(1.0f);
  step(one);
  export_function(folder / "x.weft", *step.graph(one));
  ExportedFunction function(folder / "x.weft");
  EXPECT_EQ(function.run({one.tensor()})[0].item(), 14);
  EXPECT_EQ(function.run({one.tensor()})[0].item(), 16);
  EXPECT_EQ(count.tensor().item(), 6);
}

TEST(Exported, VariablesStayAssignedWhereAFunctionIsOptimized) {
  const TemporaryFolder folder;
  const Variable count(Tensor::scalar(5.0f), {.name = "count"});
  const Value weight = f32({2, 2}, {1, 2, 3, 4});
  const auto step = jit([&](const Value& x) {
    count.assign_add(Tensor::scalar(1.0f));
    return matmul(x, weight) * count.read();
  });
  const Value x = f32({1, 2}, {1, 1});
  export_function(folder / "x.weft", *step.graph(x));
  optimize_exported(folder / "x.weft", folder / "fast.weft", 1,
                    {.search = {.budget = 4}});
  ExportedFunction function(folder / "fast.weft");
  EXPECT_TENSOR(Value(function.run({x.tensor()})[0]), f32({1, 2}, {24, 36}));
  EXPECT_TENSOR(Value(function.run({x.tensor()})[0]), f32({1, 2}, {28, 42}));
}

TEST(Exported, FunctionsThatItCallsComeAlong) {
  const TemporaryFolder folder;
  const auto square = jit([](const Value& x) { return x * x; });
  const auto f = jit([&](const Value& x) { return square(square(x)) + 1; });
  const Value two = Tensor::scalar(2.0f);
  export_function(folder / "x.weft", *f.graph(two));
  ExportedFunction function(folder / "x.weft");
  EXPECT_EQ(function.run({two.tensor()})[0].item(), 17);
}

TEST(Exported, CodeOfTheHostCannotBe) {
  const TemporaryFolder folder;
  const auto f = jit([](const Value& x) {
    return host_func([](const auto& in) { return std::vector{in[0] + 1}; }, {x},
                     {x.type()}, "increment")[0];
  });
  const Value one = Tensor::scalar(1.0f);
  const auto graph = f.graph(one);
  expect_error(ErrorCode::kUnsupported, {"increment"},
               [&] { export_function(folder / "x.weft", *graph); });
}

TEST(Exported, FunctionsOfAFileShareTheirTensors) {
  const TemporaryFolder folder;
  const Value weight = Tensor::zeros({DType::kF32, {1000}});
  const Variable count(Tensor::scalar(1.0f), {.name = "count"});
  const auto sum_of = jit([&](const Value& x) { return sum(weight + x); });
  const auto counts = jit([&](const Value& x) {
    count.assign_add(x);
    return sum(weight * 2) + count.read();
  });
  const Value two = Tensor::scalar(2.0f);
  counts(two);
  const auto path = folder / "x.weft";
  const auto first = sum_of.graph(two);
  const auto second = counts.graph(two);
  export_functions(path,
                   {{kMainFunction, first.get()}, {"count", second.get()}},
                   {{"note", "kept"}});
  EXPECT_LT(std::filesystem::file_size(path), 2 * 1000 * sizeof(float));
  const ExportedFile file(path);
  EXPECT_EQ(file.tensors().entries().size(), 2u);
  EXPECT_TRUE(file.has("count"));
  EXPECT_FALSE(file.has("other"));
  EXPECT_EQ(texts_beside_functions(file.metadata()),
            (TextMetadata{{"note", "kept"}}));
  EXPECT_EQ(ExportedFunction(path).run({two.tensor()})[0].item(), 2000);
  ExportedFunction counting(file, "count");
  EXPECT_EQ(counting.run({two.tensor()})[0].item(), 5);
  EXPECT_EQ(counting.run({two.tensor()})[0].item(), 7);
  // What was assigned did not reach the file.
  EXPECT_EQ(ExportedFunction(file, "count").run({two.tensor()})[0].item(), 5);
  expect_error(ErrorCode::kDataLoss, {"x.weft", "weft.function.other"},
               [&] { ExportedFunction other(file, "other"); });
}

TEST(Exported, TensorsOutliveTheOpenFile) {
  const TemporaryFolder folder;
  const Value weight = f32({3}, {1, 2, 3});
  export_function(folder / "x.weft", *jit([&](const Value& x) {
                                        return x * weight;
                                      }).graph(weight));
  std::optional<SafetensorsFile> file(folder / "x.weft");
  const Tensor mapped = file->map(file->entries()[0]);
  EXPECT_FALSE(mapped.owns_uniquely());
  file.reset();
  std::filesystem::remove(folder / "x.weft");
  EXPECT_TRUE(identical(mapped, weight.tensor()));
}

// Every byte of a file counts: of the header, whose damage the parser may see
// first, as of the tensors.
TEST(Exported, AChangedByteIsFound) {
  const TemporaryFolder folder;
  const auto path = folder / "x.weft";
  const Value captured = f32({2}, {1, 2});
  export_function(
      path, *jit([&](const Value& x) { return x + captured; }).graph(captured));
  const std::string whole = read_text(path);
  for (std::size_t i = 0; i < whole.size(); i += i < 64 ? 1 : 7) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    write_file(folder / "y.weft", damaged);
    EXPECT_THROW(ExportedFunction(folder / "y.weft"), Error) << "byte " << i;
  }
  std::string last = whole;
  last.back() = static_cast<char>(last.back() ^ 64);
  write_file(folder / "y.weft", last);
  expect_error(ErrorCode::kDataLoss, {"y.weft", "checksum"},
               [&] { ExportedFunction damaged(folder / "y.weft"); });
}

TEST(Exported, RefusesDamage) {
  const TemporaryFolder folder;
  const auto path = folder / "x.weft";
  const Value captured = f32({2}, {1, 2});
  const auto f = jit([&](const Value& x) { return x + captured; });
  export_function(path, *f.graph(captured));
  const SafetensorsFile file(path);
  const NamedTensor tensor{"0.captured", captured.tensor()};
  const auto expect_damaged = [&](const char* key, const std::string& text,
                                  const std::vector<NamedTensor>& tensors) {
    TextMetadata metadata = file.metadata();
    metadata[key] = text;
    // A checksum would find all of this before it is looked at.
    metadata.erase("weft.checksum");
    write_safetensors(folder / "y.weft", tensors, metadata);
    expect_error(ErrorCode::kDataLoss, {"y.weft"},
                 [&] { ExportedFunction damaged(folder / "y.weft"); });
  };
  const std::string graph = file.metadata().at("weft.graph");
  std::string info = file.metadata().at("weft.function");
  expect_error(ErrorCode::kDataLoss, {"checksum is missing"}, [&] {
    TextMetadata metadata = file.metadata();
    metadata.erase("weft.checksum");
    write_safetensors(folder / "y.weft", std::vector{tensor}, metadata);
    ExportedFunction damaged(folder / "y.weft");
  });
  info.replace(info.find("\"format\":2"), 10, "\"format\":1");
  expect_damaged("weft.graph", graph.substr(0, graph.size() / 2), {tensor});
  expect_damaged("weft.graph", "", {tensor});
  expect_damaged("weft.function", "{}", {tensor});
  expect_damaged("weft.function", info, {});
  expect_damaged("weft.function", info, {{"0.captured", Tensor::scalar(1.0f)}});
  expect_damaged("weft.function",
                 "{\"format\":1,\"entry\":\"none\",\"hidden\":[]}", {tensor});
  write_safetensors(folder / "z.weft", {});
  expect_error(ErrorCode::kDataLoss, {"no function in it"},
               [&] { ExportedFunction none(folder / "z.weft"); });
}

}  // namespace
}  // namespace weft::exported_test
