// Sources that break what they declared.
#include "weft/data/checked_source.h"

#include <functional>
#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace weft::checked_source_test {
namespace {

using test::expect_error;

// Two epochs of three batches of four examples, of which `spoil` may change
// any.
class Spoiled final : public BatchSource {
 public:
  explicit Spoiled(std::function<void(Batch&)> spoil = {})
      : spoil_(std::move(spoil)) {}

  const std::vector<BatchInput>& inputs() const override { return inputs_; }
  std::int64_t batches_per_epoch() const override { return 3; }
  std::int64_t examples_per_epoch() const override { return 12; }
  BatchPosition position() const override { return next_; }
  void seek(BatchPosition position) override { next_ = position; }
  const Batch& next() override {
    batch_ = {.tensors = {Tensor::zeros({DType::kF32, {4, 5, 2}}),
                          Tensor::zeros({DType::kI32, {4}})},
              .size = 4,
              .whole_size = 4,
              .position = next_};
    if (++next_.batch == 3) next_ = {next_.epoch + 1, 0};
    if (spoil_) spoil_(batch_);
    return batch_;
  }

 private:
  std::function<void(Batch&)> spoil_;
  // Sentences of at most seven words.
  std::vector<BatchInput> inputs_{
      {.name = "words", .type = {DType::kF32, {4, 7, 2}}, .varying = {1}},
      {.name = "label", .type = {DType::kI32, {4}}}};
  Batch batch_;
  BatchPosition next_;
};

CheckedSource checked(std::function<void(Batch&)> spoil = {}) {
  return {"batch source 'spoiled'",
          std::make_unique<Spoiled>(std::move(spoil))};
}

void spoil_one(Batch& batch, BatchPosition where,
               const std::function<void(Batch&)>& spoil) {
  if (batch.position == where) spoil(batch);
}

void expect_refused(ErrorCode code, std::initializer_list<std::string> parts,
                    const std::function<void(Batch&)>& spoil) {
  CheckedSource source = checked([&](Batch& batch) {
    spoil_one(batch, {1, 1}, spoil);
  });
  for (int i = 0; i < 4; ++i) source.next();
  expect_error(code, {"batch source 'spoiled'", "batch 2 of epoch 2"},
               [&] { source.next(); });
  source.seek({1, 1});
  expect_error(code, parts, [&] { source.next(); });
}

TEST(CheckedSource, LetsThroughWhatWasDeclared) {
  CheckedSource source = checked();
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (int batch = 0; batch < 3; ++batch) {
      EXPECT_EQ(source.position(), (BatchPosition{epoch, batch}));
      EXPECT_EQ(source.next().position, (BatchPosition{epoch, batch}));
    }
  }
  // A short batch, and a worker without a part of it.
  for (const std::int64_t size : {3, 0}) {
    CheckedSource less = checked([&](Batch& batch) {
      for (Tensor& tensor : batch.tensors) tensor = tensor.slice(0, size);
      batch.size = size;
    });
    EXPECT_EQ(less.next().size, size);
  }
}

TEST(CheckedSource, RefusesASourceThatRunsDry) {
  expect_refused(ErrorCode::kUnavailable,
                 {"ran dry", "3 batches in each epoch", "train.max_steps"},
                 [](Batch& batch) {
                   batch.tensors.clear();
                   batch.size = batch.whole_size = 0;
                 });
}

TEST(CheckedSource, RefusesOtherTypes) {
  const auto words_are = [](const TensorType& type) {
    return [type](Batch& batch) { batch.tensors[0] = Tensor::zeros(type); };
  };
  const std::string declared = "declared: f32[4, 7, 2]";
  expect_refused(ErrorCode::kDataLoss, {"'words' is f64[4, 5, 2]", declared},
                 words_are({DType::kF64, {4, 5, 2}}));
  expect_refused(ErrorCode::kDataLoss, {"'words' is f32[4, 10]", declared},
                 words_are({DType::kF32, {4, 10}}));
  expect_refused(ErrorCode::kDataLoss, {"'words' is f32[4, 5, 3]", declared},
                 words_are({DType::kF32, {4, 5, 3}}));
  expect_refused(ErrorCode::kDataLoss, {"'words' is f32[4, 8, 2]", declared},
                 words_are({DType::kF32, {4, 8, 2}}));
  expect_refused(ErrorCode::kDataLoss,
                 {"'words' is f32[3, 5, 2]", "this batch has 4 examples"},
                 words_are({DType::kF32, {3, 5, 2}}));
}

TEST(CheckedSource, RefusesOtherInputs) {
  expect_refused(ErrorCode::kDataLoss, {"1 tensors, where 2 are declared"},
                 [](Batch& batch) { batch.tensors.pop_back(); });
  expect_refused(ErrorCode::kDataLoss, {"'label' has no tensor"},
                 [](Batch& batch) { batch.tensors[1] = {}; });
}

TEST(CheckedSource, RefusesAnotherBatchThanWasDue) {
  expect_refused(ErrorCode::kDataLoss, {"it gave batch 3 of epoch 2"},
                 [](Batch& batch) { ++batch.position.batch; });
  expect_refused(ErrorCode::kDataLoss, {"has 4 of 3 examples"},
                 [](Batch& batch) { batch.whole_size = 3; });
}

}  // namespace
}  // namespace weft::checked_source_test
