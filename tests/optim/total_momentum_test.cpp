// Total momentum, and YellowFin's loop around it.
#include "weft/optim/total_momentum.h"

#include <cmath>
#include <deque>
#include <gtest/gtest.h>

#include "tests/support/optimizer_run.h"

#include "weft/base/parallel.h"
#include "weft/base/philox.h"

namespace weft::total_momentum_test {
namespace {

constexpr std::int64_t kSize = 400;
constexpr float kRate = 0.1f;

using Row = std::vector<float>;

Value row(const Row& values) {
  return Tensor::of<float>({static_cast<Dim>(values.size())},
                           std::span<const float>(values));
}

// Updates whose moves and gradients are given.
class Measured {
 public:
  explicit Measured(std::int64_t most_late) : total_(600, most_late) {
    for (const Slot& slot : total_.slots()) own_.push_back(initial_slot(slot));
  }

  // Nothing where nothing can be said.
  std::optional<double> update(const Row& move, const Row& gradient,
                               double late) {
    Row direction(move);
    for (float& x : direction) x /= -kRate;
    const TotalMomentum::Move made[] = {{row(gradient), row(direction)}};
    const auto [momentum, is_there] =
        total_.measure(made, Tensor::scalar(kRate),
                       {.lr = {},
                        .number = Tensor::scalar(++number_, DType::kF64),
                        .late = Tensor::scalar(late, DType::kF64)},
                       own_);
    if (is_there.tensor().item() == 0) return std::nullopt;
    return momentum.tensor().item();
  }

 private:
  TotalMomentum total_;
  std::vector<Value> own_;
  double number_ = 0;
};

// Moves that follow momentum 0.7 of themselves, beside a gradient that comes
// three updates late: of two in five elements it is nonsense.
TEST(TotalMomentum, IsTheMedianOverElements) {
  constexpr int kLate = 3;
  const RandomStream random{.seed = 2, .stream = 1, .step = 0};
  Measured measured(8);
  std::deque<Row> moves;
  std::uint64_t draws = 0;
  const auto draw = [&] { return uniform_from(random.word(draws++)) - 0.5f; };
  for (int n = 0; n < 20; ++n) {
    Row move(kSize);
    for (float& x : move) x = draw();
    moves.push_back(move);
    Row gradient(kSize);
    if (n > kLate) {
      const auto s = static_cast<std::size_t>(n - kLate);
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        gradient[i] = (0.7f * moves[s - 1][i] - moves[s][i]) / kRate;
        if (i % 5 < 2) gradient[i] = 1e6f * draw();
      }
    }
    const auto total = measured.update(move, gradient, kLate);
    EXPECT_EQ(total.has_value(), n > kLate) << n;
    EXPECT_NEAR(total.value_or(0.7), 0.7, 0.1) << n;
  }
}

TEST(TotalMomentum, DoesNotAskGradientsThatAreTooLate) {
  Measured measured(4);
  const Row move(kSize, 0.5f);
  for (int n = 0; n < 20; ++n) measured.update(move, move, 0);
  EXPECT_TRUE(measured.update(move, move, 4).has_value());
  EXPECT_FALSE(measured.update(move, move, 5).has_value());
}

TEST(TotalMomentum, LeavesOutWhatHasNotMoved) {
  Measured measured(4);
  Row move(kSize, 0.0f);
  for (int n = 0; n < 5; ++n) {
    EXPECT_FALSE(measured.update(move, move, 0).has_value());
  }
}

// Gradients that are 15 updates late, of a quadratic whose curvature lets x
// fall by a factor of r in each: x_{n+1} = x_n - rate h x_{n-15}. Then the
// total is r (1 - r^15) with no momentum of the optimizer's.
TEST(TotalMomentum, IsWhatLateGradientsAdd) {
  constexpr int kLate = 15;
  constexpr double kRatio = 0.97;
  const double curvature = (1 - kRatio) * std::pow(kRatio, kLate) / kRate;
  Measured measured(kLate);
  const auto x = [&](int n) { return std::pow(kRatio, n); };
  for (int n = 0; n < 100; ++n) {
    const Row move(kSize, static_cast<float>(x(n + 1) - x(n)));
    const Row gradient(kSize, static_cast<float>(curvature * x(n - kLate)));
    const auto total = measured.update(move, gradient, kLate);
    if (n <= kLate) continue;
    ASSERT_TRUE(total.has_value());
    EXPECT_NEAR(*total, kRatio * (1 - std::pow(kRatio, kLate)), 1e-3);
  }
}

// A quadratic of many dimensions whose gradients are noisy, and come late.
class Plant {
 public:
  explicit Plant(const Options& options)
      : run_(make_optimizer("yellowfin", options),
             {row(Row(kSize, 1)).tensor()}),
        shared_(make_optimizer("yellowfin", options)->shared_slots()) {}

  // `late` updates between the parameters that a gradient is of and itself.
  void step(std::size_t late) {
    seen_.push_back(run_.parameter());
    if (seen_.size() > late + 1) seen_.pop_front();
    const Tensor& old = seen_.front();
    Row gradient(kSize);
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const auto noise =
          normal_from(random_.word(draws_), random_.word(draws_ + 1));
      draws_ += 2;
      const float curvature = 1 + static_cast<float>(i % 4);
      gradient[i] = curvature * old.data<float>()[i] + 0.5f * noise[0];
    }
    run_.step({row(gradient)}, 1, static_cast<double>(seen_.size() - 1));
  }
  double slot(const char* name) const {
    for (std::size_t i = 0; i < shared_.size(); ++i) {
      if (shared_[i].name == name) return run_.shared(i).item();
    }
    ADD_FAILURE() << name;
    return 0;
  }

 private:
  test::OptimizerRun run_;
  std::vector<Slot> shared_;
  std::deque<Tensor> seen_;
  RandomStream random_{.seed = 4, .stream = 1, .step = 0};
  std::uint64_t draws_ = 0;
};

const Options kLoop = {{"closed_loop", true}};

// Where no gradient is late, total momentum is the optimizer's own, and the
// distance to what is chosen falls by the gain in each step.
TEST(ClosedLoop, FollowsWhatIsChosen) {
  set_thread_count(1);
  Plant plant(kLoop);
  for (int t = 0; t < 800; ++t) plant.step(0);
  EXPECT_NEAR(plant.slot("momentum"), plant.slot("chosen_momentum"), 0.02);
  EXPECT_NEAR(plant.slot("total_momentum"), plant.slot("momentum"), 0.02);
}

// Sixteen workers in turn.
TEST(ClosedLoop, MakesUpForLateGradients) {
  set_thread_count(1);
  Plant plant(kLoop);
  for (int t = 0; t < 3000; ++t) plant.step(15);
  EXPECT_NEAR(plant.slot("total_momentum"), plant.slot("chosen_momentum"),
              0.05);
}

}  // namespace
}  // namespace weft::total_momentum_test
