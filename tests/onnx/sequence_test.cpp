// Sequences and optionals of ONNX: they are gone when a model is imported.
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/onnx_models.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/values.h"

#include "weft/tensor/symbol.h"

namespace weft::onnx_sequence_test {
namespace {

using test::call;
using test::expect_error;
using test::numbers;
using test::OnnxModel;
using test::ops_of;

GraphFunctionRef import(OnnxModel& model, const OnnxImportOptions& how = {}) {
  const test::TemporaryFolder folder;
  model.save(folder / "model.onnx");
  return import_onnx(folder / "model.onnx", how);
}

Tensor whole(std::int64_t value) { return Tensor::scalar(value); }

// What PyTorch writes for torch.split(x, 2, 1)[-1].
TEST(OnnxSequence, APartOfASplitIsASlice) {
  OnnxModel model;
  model.input("x", {DType::kF32, {symbol("N"), 5}})
      .tensor("two", whole(2))
      .tensor("last", whole(-1))
      .node("SplitToSequence", {"x", "two"}, {"parts"},
            {{"axis", std::int64_t{1}}})
      .node("SequenceAt", {"parts", "last"}, {"y"})
      .node("SequenceLength", {"parts"}, {"count"})
      .output("y")
      .output("count");
  const auto function = import(model);
  EXPECT_EQ(ops_of(function->function()).size(), 2);  // and the constant 3
  const auto results = call(*function, {test::pattern({2, 5})});
  EXPECT_EQ(results[0].shape(), (Shape{2, 1}));
  EXPECT_EQ(results[0].item(1), test::pattern({2, 5}).item(9));
  EXPECT_EQ(results[1].item(), 3);
}

TEST(OnnxSequence, InsertsErasesAndPutsTogether) {
  OnnxModel model;
  model.input("a", {DType::kF32, {2}})
      .input("b", {DType::kF32, {2}})
      .input("c", {DType::kF32, {2}})
      .tensor("front", whole(0))
      .tensor("second", whole(-2))
      .node("SequenceConstruct", {"a", "b"}, {"ab"})
      .node("SequenceInsert", {"ab", "c", "front"}, {"cab"})
      .node("SequenceErase", {"cab", "second"}, {"cb"})
      .node("ConcatFromSequence", {"cb"}, {"flat"}, {{"axis", std::int64_t{0}}})
      .node("ConcatFromSequence", {"cb"}, {"columns"},
            {{"axis", std::int64_t{-1}}, {"new_axis", std::int64_t{1}}})
      .output("flat")
      .output("columns")
      .output("cab");
  const auto pair = [](float x) { return Tensor::of<float>({2}, {x, x + 1}); };
  const auto results = call(*import(model), {pair(1), pair(3), pair(5)});
  EXPECT_EQ(numbers(results[0]), (std::vector<double>{5, 6, 3, 4}));
  EXPECT_EQ(numbers(results[1]), (std::vector<double>{5, 3, 6, 4}));
  // A sequence that is a result is as many results as it has elements.
  ASSERT_EQ(results.size(), 5);
  EXPECT_EQ(numbers(results[3]), (std::vector<double>{1, 2}));
}

// for step in range(n): seen.append(x := x * x)
OnnxModel appending_loop(bool has_known_count) {
  OnnxModel body;
  body.input("i", {DType::kI64, {}})
      .input("goes_on", {DType::kBool, {}})
      .input("x", {DType::kF32, {2}})
      .input("seen", {DType::kF32, {}})  // a sequence, whose type nobody reads
      .node("Mul", {"x", "x"}, {"next"})
      .node("SequenceInsert", {"seen", "next"}, {"longer"})
      .output("goes_on")
      .output("next")
      .output("longer");
  OnnxModel model;
  model.input("x0", {DType::kF32, {2}});
  if (has_known_count) {
    model.tensor("n", whole(3));
  } else {
    model.input("n", {DType::kI64, {}});
  }
  model.node("SequenceEmpty", {}, {"none"})
      .node("Loop", {"n", "", "x0", "none"}, {"last", "all"}, {},
            {{"body", body.body()}})
      .node("ConcatFromSequence", {"all"}, {"y"}, {{"axis", std::int64_t{0}}})
      .output("y");
  return model;
}

TEST(OnnxSequence, LoopsThatAppendAreUnrolled) {
  OnnxModel model = appending_loop(true);
  const Tensor x = Tensor::of<float>({2}, {2, 1});
  EXPECT_EQ(numbers(call(*import(model), {x})[0]),
            (std::vector<double>{4, 1, 16, 1, 256, 1}));
  OnnxModel open = appending_loop(false);
  expect_error(ErrorCode::kUnsupported, {"Loop", "operand 'n' is computed"},
               [&] { import(open); });
  EXPECT_EQ(call(*import(open, {.fixed = {{"n", whole(1)}}}), {x})[0].size(),
            2);
}

// Without a number of steps only the condition, which is true, would end it.
TEST(OnnxSequence, RefusesLoopsThatNothingEnds) {
  OnnxModel body;
  body.input("i", {DType::kI64, {}})
      .input("goes_on", {DType::kBool, {}})
      .input("seen", {DType::kF32, {}})
      .node("SequenceInsert", {"seen", "i"}, {"longer"})
      .output("goes_on")
      .output("longer");
  OnnxModel model;
  model.node("SequenceEmpty", {}, {"none"})
      .node("Loop", {"", "", "none"}, {"all"}, {}, {{"body", body.body()}})
      .output("all");
  expect_error(ErrorCode::kUnsupported, {"more than 1024 steps"},
               [&] { import(model); });
}

TEST(OnnxSequence, MapsElementByElement) {
  OnnxModel body;
  body.input("x", {DType::kF32, {2}})
      .input("y", {DType::kF32, {2}})
      .node("Sub", {"x", "y"}, {"z"})
      .output("z");
  OnnxModel model;
  model.input("a", {DType::kF32, {2}})
      .input("b", {DType::kF32, {2}})
      .node("SequenceConstruct", {"a", "b"}, {"ab"})
      .node("SequenceMap", {"ab", "b"}, {"less"}, {}, {{"body", body.body()}})
      .node("ConcatFromSequence", {"less"}, {"y"}, {{"axis", std::int64_t{0}}})
      .output("y");
  EXPECT_EQ(numbers(call(*import(model), {Tensor::of<float>({2}, {7, 9}),
                                          Tensor::of<float>({2}, {1, 2})})[0]),
            (std::vector<double>{6, 7, 0, 0}));
}

TEST(OnnxSequence, AnOptionalSaysWhetherItHoldsSomething) {
  OnnxModel model;
  model.input("x", {DType::kF32, {2}})
      .node("Optional", {}, {"none"})
      .node("Optional", {"x"}, {"some"})
      .node("OptionalHasElement", {"none"}, {"a"})
      .node("OptionalHasElement", {"some"}, {"b"})
      .node("OptionalGetElement", {"some"}, {"y"})
      .output("a")
      .output("b")
      .output("y");
  const auto results = call(*import(model), {Tensor::of<float>({2}, {7, 9})});
  EXPECT_EQ(results[0].item(), 0);
  EXPECT_EQ(results[1].item(), 1);
  EXPECT_EQ(results[2].item(1), 9);
}

TEST(OnnxSequence, RefusesWhatOnlyARunWouldTell) {
  OnnxModel place;
  place.input("x", {DType::kF32, {2}})
      .input("i", {DType::kI64, {}})
      .node("SequenceConstruct", {"x", "x"}, {"xx"})
      .node("SequenceAt", {"xx", "i"}, {"y"})
      .output("y");
  expect_error(ErrorCode::kUnsupported, {"SequenceAt", "operand 'i'"},
               [&] { import(place); });
  OnnxModel outside;
  outside.input("x", {DType::kF32, {2}})
      .tensor("two", whole(2))
      .node("SequenceConstruct", {"x", "x"}, {"xx"})
      .node("SequenceAt", {"xx", "two"}, {"y"})
      .output("y");
  expect_error(ErrorCode::kUnsupported, {"position 2 in a sequence of 2"},
               [&] { import(outside); });
  OnnxModel tensor;
  tensor.input("x", {DType::kF32, {2}})
      .node("SequenceConstruct", {"x"}, {"xx"})
      .node("Relu", {"xx"}, {"y"})
      .output("y");
  expect_error(ErrorCode::kUnsupported,
               {"Relu", "a sequence stands where only a tensor can be"},
               [&] { import(tensor); });
  OnnxModel unknown;
  unknown.input("x", {DType::kF32, {symbol("N"), 2}})
      .node("SplitToSequence", {"x"}, {"rows"})
      .node("SequenceLength", {"rows"}, {"y"})
      .output("y");
  expect_error(ErrorCode::kUnsupported, {"an axis of unknown size"},
               [&] { import(unknown); });
}

}  // namespace
}  // namespace weft::onnx_sequence_test
