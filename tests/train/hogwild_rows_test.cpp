// Tables of words under a model that threads share: a step reads and changes
// the rows of its batch.
#include <gtest/gtest.h>
#include <set>

#include "tests/support/values.h"

#include "weft/base/parallel.h"
#include "weft/comm/transport/thread.h"
#include "weft/nn/nn.h"
#include "weft/ops/ops.h"
#include "weft/optim/wrapper.h"
#include "weft/train/step/single_worker.h"
#include "weft/train/step/touched_parts.h"
#include "weft/train/sync/synced_worker.h"

namespace weft::hogwild_rows_test {
namespace {

constexpr std::int64_t kWords = 300;
constexpr std::int64_t kWidth = 4;
constexpr std::int64_t kSentence = 3;
constexpr std::size_t kTable = kWords * kWidth;
constexpr double kLr = 0.5;
const std::vector<std::string> kVariants{"hogwild", "atomic", "striped",
                                         "locked"};

nn::Sequential words_model() {
  nn::Sequential model{nn::Embedding{kWords, kWidth}, nn::Flatten{},
                       nn::Linear{kSentence * kWidth, 2}};
  model.initialize(5);
  return model;
}

Tensor table_of(const nn::Module& model) {
  return model.parameters()[0].parameter->variable.tensor();
}

// Sentences of words from `first` to `first` + `words`, and whether the first
// word of each is odd.
Batch sentences(std::int64_t size, std::int32_t first, std::int32_t words,
                std::int64_t step) {
  Batch batch{.tensors = {Tensor::empty({DType::kI32, {size, kSentence}}),
                          Tensor::empty({DType::kI32, {size}})},
              .size = size,
              .whole_size = size,
              .position = {}};
  for (std::int64_t i = 0; i < size * kSentence; ++i) {
    const auto draw = static_cast<std::int32_t>((i + step * 31) * 7919 % words);
    batch.tensors[0].data<std::int32_t>()[i] = first + draw;
  }
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int32_t word =
        batch.tensors[0].data<std::int32_t>()[i * kSentence];
    batch.tensors[1].data<std::int32_t>()[i] = word % 2;
  }
  return batch;
}

std::vector<BatchInput> inputs_of(const Batch& batch) {
  return {{"input", batch.tensors[0].type()},
          {"label", batch.tensors[1].type()}};
}

WorkerStep step_of(std::int64_t number, std::int64_t steps) {
  return {.number = number, .lr = kLr, .must_meet = number + 1 == steps};
}

// The model after so many steps by so many threads, each of which has a third
// of the first two hundred words.
nn::Sequential trained(int threads, const std::string& variant,
                       std::int64_t steps, double* loss = nullptr) {
  nn::Sequential first = words_model();
  ThreadWorld(threads).run([&](Transport& transport) {
    set_thread_count(1);
    const int rank = transport.rank();
    nn::Sequential own = words_model();
    nn::Sequential& model = rank == 0 ? first : own;
    const auto task = make_task("classification");
    const auto batch_of = [&](std::int64_t step) {
      return sentences(8, rank * 50, 100, step);
    };
    const StepDescription step(model, *task, inputs_of(batch_of(0)));
    WorkerGroup group(transport, 20);
    SyncRecipe recipe;
    recipe.policy = fmt::format("hogwild(variant={})", variant);
    const auto optimizer = make_optimizer("sgd", {});
    SyncedWorker worker(step, *optimizer, recipe, group);
    for (std::int64_t i = 0; i < steps; ++i) {
      const WorkerTotals totals = worker.run(batch_of(i), step_of(i, steps));
      if (totals.have_met && rank == 0 && loss != nullptr) {
        *loss = totals.sums.ratios()[0].mean();
      }
    }
  });
  return first;
}

TEST(HogwildRows, OfOneThreadAreThoseOfOneWorkerToTheBit) {
  constexpr std::int64_t kSteps = 20;
  set_thread_count(1);
  nn::Sequential alone = words_model();
  const auto task = make_task("classification");
  const auto optimizer = make_optimizer("sgd", {});
  const StepDescription step(alone, *task, inputs_of(sentences(8, 0, 100, 0)),
                             {}, optimizer.get());
  SingleWorker worker(step);
  for (std::int64_t i = 0; i < kSteps; ++i) {
    worker.run(sentences(8, 0, 100, i), step_of(i, kSteps));
  }
  for (const std::string& variant : kVariants) {
    const nn::Sequential model = trained(1, variant, kSteps);
    for (std::size_t i = 0; i < alone.parameters().size(); ++i) {
      const auto named = model.parameters()[i];
      EXPECT_TRUE(identical(named.parameter->variable.tensor(),
                            alone.parameters()[i].parameter->variable.tensor()))
          << variant << ": " << named.name;
    }
  }
}

TEST(HogwildRows, ThatWereLookedUpHaveMovedAndNoOthers) {
  constexpr std::int64_t kSteps = 5;
  const Tensor before = table_of(words_model());
  for (const std::string& variant : kVariants) {
    std::set<std::int64_t> touched;
    for (int rank = 0; rank < 3; ++rank) {
      for (std::int64_t i = 0; i < kSteps; ++i) {
        const Batch batch = sentences(8, rank * 50, 100, i);
        const auto words = batch.tensors[0].span<std::int32_t>();
        touched.insert(words.begin(), words.end());
      }
    }
    const Tensor after = table_of(trained(3, variant, kSteps));
    for (std::int64_t row = 0; row < kWords; ++row) {
      EXPECT_EQ(
          identical(after.slice(row, row + 1), before.slice(row, row + 1)),
          !touched.contains(row))
          << variant << ": row " << row;
    }
  }
}

TEST(HogwildRows, LearnWhatWordsMean) {
  for (const std::string& variant : kVariants) {
    double loss = 1;
    trained(3, variant, 300, &loss);
    // It is the mean over all steps, and began at log 2.
    EXPECT_LT(loss, 0.5) << variant;
  }
}

// --- Which parts a step touches ----------------------------------------------

// The parts of a model for sentences of these words.
std::vector<ParameterPart> parts_of(nn::Module& model,
                                    const std::vector<std::int32_t>& words,
                                    const Optimizer& optimizer) {
  const Batch batch{.tensors = {Tensor::of<std::int32_t>({1, kSentence}, words),
                                Tensor::of<std::int32_t>({1}, {0})},
                    .size = 1,
                    .whole_size = 1,
                    .position = {}};
  const auto task = make_task("classification");
  TouchedParts touched(
      StepDescription(model, *task, inputs_of(batch), {}, &optimizer));
  const auto parts = touched.of(batch.tensors, 0);
  return {parts.begin(), parts.end()};
}

const std::vector<ParameterPart> kDense{{1, 0, 24}, {2, 0, 2}};

std::vector<ParameterPart> with_dense(std::vector<ParameterPart> parts) {
  parts.insert(parts.end(), kDense.begin(), kDense.end());
  return parts;
}

TEST(TouchedParts, AreTheRowsThatABatchNames) {
  nn::Sequential model = words_model();
  const auto sgd = make_optimizer("sgd", {});
  EXPECT_EQ(parts_of(model, {9, 250, 9}, *sgd),
            with_dense({{0, 36, 4}, {0, 1000, 4}}));
  // Neighbours are one part, and -1 is the last row.
  EXPECT_EQ(parts_of(model, {-1, 7, 8}, *sgd),
            with_dense({{0, 28, 8}, {0, 1196, 4}}));
  EXPECT_EQ(parts_of(model, {1, 0, 2}, *sgd), with_dense({{0, 0, 12}}));
}

TEST(TouchedParts, AreAllRowsWhereTheOptimizerMovesThem) {
  nn::Sequential model = words_model();
  const auto decays = make_optimizer("sgd", {{"weight_decay", 0.1}});
  EXPECT_EQ(parts_of(model, {9, 250, 9}, *decays),
            with_dense({{0, 0, kTable}}));
  const auto waits = wrap_optimizer(
      make_optimizer("sgd", {{"weight_decay", 0.1}}), {"lazy_rows"});
  EXPECT_EQ(parts_of(model, {9, 250, 9}, *waits),
            with_dense({{0, 36, 4}, {0, 1000, 4}}));
}

// Looks words up, and reads of the table something besides.
class ReadsMore : public nn::Layer {
 public:
  explicit ReadsMore(bool by_mean)
      : table_(parameter("table", {kWords, kWidth}, nn::Init::normal(0.1))),
        by_mean_(by_mean) {}

 protected:
  Value forward(const Value& x) override {
    const Value table = nn::value_of(table_);
    // Neither is differentiated, so that the gradient is of the lookup alone.
    const Value frozen = stop_gradient(table);
    const Value other =
        by_mean_ ? mean(frozen, {0}) : slice(frozen, {0, 0}, {1, kWidth});
    return mean(embedding(table, x), {1}) + reshape(other, {1, kWidth});
  }

 private:
  nn::ParameterRef table_;
  bool by_mean_;
};

TEST(TouchedParts, AreAllRowsWhereOthersAreRead) {
  const auto sgd = make_optimizer("sgd", {});
  for (const bool by_mean : {false, true}) {
    ReadsMore model(by_mean);
    model.initialize(1);
    EXPECT_EQ(parts_of(model, {9, 250, 9}, *sgd),
              (std::vector<ParameterPart>{{0, 0, kTable}}));
  }
}

// Looks up what it finds most alike, which depends on the table.
class LooksUpWhatItFinds : public nn::Layer {
 public:
  LooksUpWhatItFinds()
      : table_(parameter("table", {kWords, kWidth}, nn::Init::normal(0.1))) {}

 protected:
  Value forward(const Value& x) override {
    const Value table = nn::value_of(table_);
    const Value rows = mean(embedding(table, x), {1});
    return rows + embedding(table, argmax(rows, 1));
  }

 private:
  nn::ParameterRef table_;
};

TEST(TouchedParts, AreAllRowsWhereTheModelChoosesThem) {
  LooksUpWhatItFinds model;
  model.initialize(1);
  EXPECT_EQ(parts_of(model, {9, 250, 9}, *make_optimizer("sgd", {})),
            (std::vector<ParameterPart>{{0, 0, kTable}}));
}

}  // namespace
}  // namespace weft::hogwild_rows_test
