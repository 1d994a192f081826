// Wrappers, each against what it means written with the inner optimizer alone.
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/optimizer_run.h"
#include "tests/support/values.h"

#include "weft/optim/wrapper.h"

namespace weft::wrappers_test {
namespace {

using test::OptimizerRun;

constexpr double kLr = 0.1;

std::unique_ptr<Optimizer> wrapped(const char* name,
                                   const std::vector<std::string>& wrappers) {
  return wrap_optimizer(make_optimizer(name, {}), wrappers);
}

std::vector<Tensor> two_parameters() {
  return {test::pattern({3, 2}, -1, 1, 1), test::pattern({5}, -1, 1, 2)};
}

// Gradients of both parameters in a step, which depend on nothing else.
std::vector<Value> gradients_at(int step) {
  const auto seed = 10 * static_cast<std::uint64_t>(step);
  return {test::pattern({3, 2}, -1, 1, seed + 3),
          test::pattern({5}, -1, 1, seed + 4)};
}

std::vector<Value> mean_of(const std::vector<std::vector<Value>>& batches) {
  std::vector<Value> mean = batches[0];
  for (std::size_t b = 1; b < batches.size(); ++b) {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i] = mean[i] + batches[b][i];
    }
  }
  for (Value& value : mean) value = value / static_cast<double>(batches.size());
  return mean;
}

TEST(Accumulate, IsTheInnerOptimizerOnMeansOfGradients) {
  for (const OptimizerDef& def : optimizer_registry().all()) {
    SCOPED_TRACE(def.name);
    OptimizerRun run(wrapped(def.name.c_str(), {"accumulate(3)"}),
                     two_parameters());
    OptimizerRun plain(make_optimizer(def.name, {}), two_parameters());
    for (int step = 1; step <= 4; ++step) {
      std::vector<std::vector<Value>> batches;
      for (int batch = 0; batch < 3; ++batch) {
        // Between steps nothing moves.
        for (std::size_t i = 0; i < 2; ++i) {
          EXPECT_TRUE(test::near(run.parameter(i), plain.parameter(i), 1e-5));
        }
        batches.push_back(gradients_at(3 * step + batch));
        run.step(batches.back(), kLr);
      }
      plain.step(mean_of(batches), kLr);
    }
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_TRUE(test::near(run.parameter(i), plain.parameter(i), 1e-5));
    }
  }
}

TEST(Lookahead, GoesBackPartOfTheWay) {
  OptimizerRun run(wrapped("sgd", {"lookahead(steps=2, alpha=0.25)"}),
                   {Tensor::of<float>({1}, {1})});
  const std::vector<Value> gradient{Tensor::of<float>({1}, {1})};
  run.step(gradient, kLr);
  EXPECT_FLOAT_EQ(static_cast<float>(run.parameter().item()), 0.9f);
  run.step(gradient, kLr);  // 0.8, of which a quarter of the way from 1
  EXPECT_FLOAT_EQ(static_cast<float>(run.parameter().item()), 0.95f);
  run.step(gradient, kLr);
  EXPECT_FLOAT_EQ(static_cast<float>(run.parameter().item()), 0.85f);
}

// The mean of all iterates, weighted by their age.
TEST(Ema, IsTheWeightedMeanOfIterates) {
  constexpr double kDecay = 0.75;
  OptimizerRun run(wrapped("momentum", {"ema(0.75)"}), two_parameters());
  OptimizerRun plain(make_optimizer("momentum", {}), two_parameters());
  std::vector<std::vector<double>> sums(2);
  double weights = 0;
  for (int step = 1; step <= 6; ++step) {
    run.step(gradients_at(step), kLr);
    plain.step(gradients_at(step), kLr);
    weights = kDecay * weights + 1;
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_TRUE(identical(run.parameter(i), plain.parameter(i)));
      const std::vector<double> iterate = test::numbers(plain.parameter(i));
      const std::vector<double> ema = test::numbers(run.slot(0, i));
      sums[i].resize(iterate.size());
      for (std::size_t k = 0; k < iterate.size(); ++k) {
        sums[i][k] = kDecay * sums[i][k] + iterate[k];
        EXPECT_NEAR(ema[k], sums[i][k] / weights, 1e-6);
      }
    }
  }
}

TEST(Average, IsTheMeanFromAStepOn) {
  for (const auto& [text, start, every] :
       {std::tuple("average", 1, 1),
        {"average(3)", 3, 1},
        {"average(start=2, every=3)", 2, 3}}) {
    SCOPED_TRACE(text);
    OptimizerRun run(wrapped("momentum", {text}), two_parameters());
    std::vector<double> sum(6);
    int count = 0;
    for (int step = 1; step <= 9; ++step) {
      run.step(gradients_at(step), kLr);
      const std::vector<double> iterate = test::numbers(run.parameter());
      if (step < start) {
        EXPECT_TRUE(identical(run.slot(0), run.parameter()));
        continue;
      }
      if ((step - start) % every == 0) {
        ++count;
        for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += iterate[k];
      }
      for (std::size_t k = 0; k < sum.size(); ++k) {
        EXPECT_NEAR(test::numbers(run.slot(0))[k], sum[k] / count, 1e-6);
      }
    }
  }
}

// Only steps of the inner optimizer count, and only one average can stand in.
TEST(Average, BesideOthers) {
  OptimizerRun run(wrapped("sgd", {"average", "accumulate(2)"}),
                   {Tensor::of<float>({1}, {1})});
  for (int step = 0; step < 4; ++step) {
    run.step({Tensor::of<float>({1}, {1})}, 1);
  }
  EXPECT_EQ(run.parameter().item(), -1);
  EXPECT_EQ(run.slot(1).item(), -0.5);  // of 0 and -1
  test::expect_error(ErrorCode::kInvalidArgument,
                     {"'average' and 'ema' both want", "evaluate=false"}, [] {
                       wrapped("sgd", {"ema", "average"});
                     });
  wrapped("sgd", {"ema(evaluate=false)", "average"});
}

TEST(Ema, StandsInForParameters) {
  const ParameterInfo info{"fc.weight", {DType::kF32, {2}}};
  EXPECT_EQ(used_name(*wrapped("sgd", {}), info), "fc.weight");
  EXPECT_EQ(used_name(*wrapped("sgd", {"ema", "clip_value"}), info),
            "optimizer.ema.fc.weight");
  EXPECT_EQ(used_name(*wrapped("sgd", {"ema(evaluate=false)"}), info),
            "fc.weight");
}

TEST(ClipValue, LimitsEachElement) {
  OptimizerRun run(wrapped("sgd", {"clip_value(0.5)"}),
                   {Tensor::of<float>({3}, {0, 0, 0})});
  run.step({Tensor::of<float>({3}, {0.25f, 2, -3})}, 1);
  EXPECT_TRUE(test::near(run.parameter(),
                         Tensor::of<float>({3}, {-0.25f, -0.5f, 0.5f}), 1e-7));
}

TEST(Wrappers, StandInTheOrderWritten) {
  // Inside of accumulation, clipping sees the mean of the gradients; outside,
  // each of them.
  const std::vector<Value> small{Tensor::of<float>({1}, {0})};
  const std::vector<Value> large{Tensor::of<float>({1}, {4})};
  const auto after = [&](const std::vector<std::string>& wrappers) {
    OptimizerRun run(wrapped("sgd", wrappers), {Tensor::of<float>({1}, {0})});
    run.step(small, 1);
    run.step(large, 1);
    return run.parameter().item();
  };
  EXPECT_DOUBLE_EQ(after({"clip_value(1)", "accumulate(2)"}), -1);
  EXPECT_DOUBLE_EQ(after({"accumulate(2)", "clip_value(1)"}), -0.5);
}

TEST(Wrappers, RefuseWhatMakesNoSense) {
  const auto expect_refused = [](const std::vector<std::string>& wrappers,
                                 std::initializer_list<std::string> parts) {
    test::expect_error(ErrorCode::kInvalidArgument, parts,
                       [&] { wrapped("sgd", wrappers); });
  };
  expect_refused({"lookahed(5)"}, {"lookahed", "did you mean 'lookahead'?"});
  expect_refused({"lookahead(stesp=5)"}, {"did you mean 'steps'?", "^"});
  expect_refused({"lookahead(0)"}, {"'steps' = 0 must be at least 1"});
  expect_refused({"lookahead(alpha=2)"}, {"'alpha' = 2 must be in [0, 1)"});
  expect_refused({"average(0)"}, {"'start' = 0 must be at least 1"});
  expect_refused({"ema(1)"}, {"'decay' = 1 must be in [0, 1)"});
  expect_refused({"clip_value(0)"}, {"'limit' = 0 must be above 0"});
  expect_refused({"accumulate(2)", "accumulate(2)"},
                 {"'accumulate' is there twice"});
  expect_refused({"accumulate(2) lookahead(5)"}, {"'l' is not expected here"});
}

}  // namespace
}  // namespace weft::wrappers_test
