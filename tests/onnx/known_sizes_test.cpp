// Ops of ONNX whose results have sizes that values decide, and others that are
// made of several of ours.
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/onnx_models.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/values.h"

#include "weft/tensor/symbol.h"

namespace weft::onnx_known_sizes_test {
namespace {

using test::call;
using test::expect_error;
using test::numbers;
using test::OnnxModel;

std::vector<Tensor> run(OnnxModel& model, const std::vector<Tensor>& inputs) {
  const test::TemporaryFolder folder;
  model.save(folder / "model.onnx");
  return call(*import_onnx(folder / "model.onnx"), inputs);
}

// Two boxes that share 81 / 119, one apart from both, and one with a low score.
TEST(OnnxKnownSizes, SuppressesBoxesThatOverlap) {
  const Tensor boxes =
      Tensor::of<float>({1, 4, 4}, {0, 0, 10, 10, 1, 1, 11, 11,  //
                                    20, 20, 30, 30, 50, 50, 60, 60});
  const Tensor scores = Tensor::of<float>({1, 1, 4}, {0.8F, 0.9F, 0.7F, 0.1F});
  const auto kept = [&](float overlap) {
    OnnxModel model;
    model.tensor("boxes", boxes)
        .tensor("scores", scores)
        .tensor("most", Tensor::scalar(std::int64_t{4}))
        .tensor("overlap", Tensor::scalar(overlap))
        .tensor("least", Tensor::scalar(0.2F))
        .node("NonMaxSuppression",
              {"boxes", "scores", "most", "overlap", "least"}, {"y"})
        .output("y");
    return numbers(run(model, {})[0]);
  };
  EXPECT_EQ(kept(0.5F), (std::vector<double>{0, 0, 1, 0, 0, 2}));
  EXPECT_EQ(kept(0.7F), (std::vector<double>{0, 0, 1, 0, 0, 0, 0, 0, 2}));
}

TEST(OnnxKnownSizes, SaysWhichOperandDecidesASize) {
  const test::TemporaryFolder folder;
  OnnxModel model;
  model.input("boxes", {DType::kF32, {1, 4, 4}})
      .input("scores", {DType::kF32, {1, 1, 4}})
      .node("NonMaxSuppression", {"boxes", "scores"}, {"y"})
      .node("Unique", {"scores"}, {"z"})
      .output("y")
      .output("z");
  model.save(folder / "model.onnx");
  expect_error(
      ErrorCode::kUnsupported,
      {"NonMaxSuppression", "operand 'boxes'", "Unique", "operand 'scores'"},
      [&] { import_onnx(folder / "model.onnx"); });
}

TEST(OnnxKnownSizes, KeepsEachElementOnce) {
  const Tensor x = Tensor::of<std::int64_t>(
      {5}, std::vector<std::int64_t>{(1LL << 60) + 1, 3, 1LL << 60, 3, -2});
  const auto unique = [&](std::int64_t is_sorted) {
    OnnxModel model;
    model.tensor("x", x)
        .node("Unique", {"x"}, {"y", "first", "place", "count"},
              {{"sorted", is_sorted}})
        .output("y")
        .output("first")
        .output("place")
        .output("count");
    return run(model, {});
  };
  const auto sorted = unique(1);
  EXPECT_EQ(sorted[0].size(), 4);  // the large ones differ by one
  EXPECT_EQ(numbers(sorted[1]), (std::vector<double>{4, 1, 2, 0}));
  EXPECT_EQ(numbers(sorted[2]), (std::vector<double>{3, 1, 2, 1, 0}));
  EXPECT_EQ(numbers(sorted[3]), (std::vector<double>{1, 2, 1, 1}));
  const auto as_seen = unique(0);
  EXPECT_EQ(numbers(as_seen[1]), (std::vector<double>{0, 1, 2, 4}));
  EXPECT_EQ(numbers(as_seen[2]), (std::vector<double>{0, 1, 2, 1, 3}));
}

TEST(OnnxKnownSizes, KeepsEachColumnOnce) {
  OnnxModel model;
  model
      .tensor("x", Tensor::of<float>({2, 4}, {1, 0, 1, 0,  //
                                              5, 4, 5, 3}))
      .node("Unique", {"x"}, {"y", "", "place"}, {{"axis", std::int64_t{-1}}})
      .output("y")
      .output("place");
  const auto results = run(model, {});
  EXPECT_EQ(numbers(results[0]), (std::vector<double>{0, 0, 1, 3, 4, 5}));
  EXPECT_EQ(numbers(results[1]), (std::vector<double>{2, 1, 2, 0}));
}

// Two factors that come to one place both count.
TEST(OnnxKnownSizes, UpdatesMultiply) {
  OnnxModel elements;
  elements.input("x", {DType::kF32, {2, 3}})
      .input("u", {DType::kF32, {2, 2}})
      .tensor("i", Tensor::of<std::int64_t>({2, 2}, {0, 0, 2, -3}))
      .node("ScatterElements", {"x", "i", "u"}, {"y"},
            {{"axis", std::int64_t{1}}, {"reduction", std::string("mul")}})
      .output("y");
  const Tensor x = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor u = Tensor::of<float>({2, 2}, {10, 7, 3, 2});
  EXPECT_EQ(numbers(run(elements, {x, u})[0]),
            (std::vector<double>{70, 2, 3, 8, 5, 18}));
  OnnxModel rows;
  rows.input("x", {DType::kF32, {2, 3}})
      .input("u", {DType::kF32, {3, 3}})
      .tensor("i", Tensor::of<std::int64_t>({3, 1}, {1, 1, 0}))
      .node("ScatterND", {"x", "i", "u"}, {"y"},
            {{"reduction", std::string("mul")}})
      .output("y");
  EXPECT_EQ(numbers(run(rows, {x, Tensor::of<float>({3, 3}, {2, 2, 2,  //
                                                             3, 1, 0,  //
                                                             1, 1, 5})})[0]),
            (std::vector<double>{1, 2, 15, 24, 10, 0}));
}

// A determinant that needs rows changed, and one of a matrix without rank.
TEST(OnnxKnownSizes, DeterminantsOfABatch) {
  OnnxModel model;
  model.input("x", {DType::kF64, {symbol("N"), 3, 3}})
      .node("Det", {"x"}, {"y"})
      .output("y");
  const Tensor x = Tensor::of<double>({3, 3, 3}, {0, 2, 1, 3, 0, 0, 1, 1, 4,  //
                                                  1, 2, 3, 2, 4, 6, 1, 0, 1,  //
                                                  2, 0, 0, 0, 3, 0, 0, 0, 5});
  EXPECT_TRUE(test::near(run(model, {x})[0],
                         Tensor::of<double>({3}, {-21, 0, 30}), 1e-12));
}

// ONNX's example: 2-grams with up to one word between their two.
TEST(OnnxKnownSizes, CountsPairsOfWords) {
  const auto counts = [](const std::string& mode) {
    OnnxModel model;
    model.input("x", {DType::kI32, {2, 4}})
        .node("TfIdfVectorizer", {"x"}, {"y"},
              {{"mode", mode},
               {"pool_int64s", Integers{9, 5, 6, 5, 5}},
               {"ngram_counts", Integers{0, 1}},
               {"ngram_indexes", Integers{3, 0, 1}},
               {"min_gram_length", std::int64_t{1}},
               {"max_gram_length", std::int64_t{2}},
               {"max_skip_count", std::int64_t{1}}})
        .output("y");
    return numbers(run(model, {Tensor::of<std::int32_t>(
                                  {2, 4}, {5, 5, 6, 5, 9, 9, 5, 6})})[0]);
  };
  // The row 5 5 6 5 has (5, 6) twice, beside each other and with one word
  // between them, and (5, 5) so too, with the 6 between.
  EXPECT_EQ(counts("TF"), (std::vector<double>{2, 2, 0, 0, 1, 0, 0, 2}));
  EXPECT_EQ(counts("IDF"), (std::vector<double>{1, 1, 0, 0, 1, 0, 0, 1}));
}

// Opset 8: sums of two sequences, of which the second ends after two steps.
TEST(OnnxKnownSizes, ScansOfBatchesStopWhereASequenceEnds) {
  OnnxModel body(8);
  body.input("sum", {DType::kF32, {2}})
      .input("x", {DType::kF32, {2}})
      .node("Add", {"sum", "x"}, {"next"})
      .node("Identity", {"next"}, {"seen"})
      .output("next")
      .output("seen");
  const auto model_of = [&](const std::string& lengths) {
    OnnxModel model(8);
    model.input("start", {DType::kF32, {2, 2}})
        .input("x", {DType::kF32, {2, 3, 2}})
        .tensor("lengths", Tensor::of<std::int64_t>({2}, {3, 2}))
        .node("Scan", {lengths, "start", "x"}, {"last", "all"},
              {{"num_scan_inputs", std::int64_t{1}}}, {{"body", body.body()}})
        .output("last")
        .output("all");
    return model;
  };
  const Tensor start = Tensor::of<float>({2, 2}, {0, 1, 10, 20});
  const Tensor x = Tensor::of<float>({2, 3, 2}, {1, 2, 3, 4, 5, 6,  //
                                                 1, 1, 1, 1, 7, 7});
  OnnxModel whole = model_of("");
  const auto results = run(whole, {start, x});
  EXPECT_EQ(numbers(results[0]), (std::vector<double>{9, 13, 19, 29}));
  EXPECT_EQ(numbers(results[1]), (std::vector<double>{1, 3, 4, 7, 9, 13,  //
                                                      11, 21, 12, 22, 19, 29}));
  OnnxModel shorter = model_of("lengths");
  EXPECT_EQ(numbers(run(shorter, {start, x})[0]),
            (std::vector<double>{9, 13, 12, 22}));
}

// Exporters write the sizes of batch and channels as those of the image.
TEST(OnnxKnownSizes, ResizesImagesOfAnyBatch) {
  const auto model_of = [](const Attributes& attributes) {
    OnnxModel model;
    model.input("x", {DType::kF32, {symbol("N"), 1, 1, 2}})
        .list("zero", {0})
        .list("two", {2})
        .list("sides", {2, 4})
        .node("Shape", {"x"}, {"shape"})
        .node("Slice", {"shape", "zero", "two"}, {"kept"})
        .node("Concat", {"kept", "sides"}, {"sizes"},
              {{"axis", std::int64_t{0}}})
        .node("Resize", {"x", "", "", "sizes"}, {"y"}, attributes)
        .output("y");
    return model;
  };
  OnnxModel model = model_of({});
  const Tensor y =
      run(model, {Tensor::of<float>({2, 1, 1, 2}, {1, 2, 3, 4})})[0];
  EXPECT_EQ(y.shape(), (Shape{2, 1, 2, 4}));
  EXPECT_EQ(numbers(y), (std::vector<double>{1, 1, 2, 2, 1, 1, 2, 2,  //
                                             3, 3, 4, 4, 3, 3, 4, 4}));
  const test::TemporaryFolder folder;
  model_of({{"keep_aspect_ratio_policy", "not_larger"}})
      .save(folder / "x.onnx");
  expect_error(ErrorCode::kUnsupported,
               {"Resize", "aspect of an axis of unknown"},
               [&] { import_onnx(folder / "x.onnx"); });
}

}  // namespace
}  // namespace weft::onnx_known_sizes_test
