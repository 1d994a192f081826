// A pole on a cart that is pushed left or right, to be kept upright (Barto,
// Sutton and Anderson, "Neuronlike adaptive elements that can solve difficult
// learning control problems", 1983). Constants, limits and the 500 steps are
// those of Gym's CartPole-v1: a reward of 1 for each step until the pole leans
// by 12 degrees or the cart is 2.4 m from the middle.
#include <array>
#include <cmath>
#include <numbers>

#include "weft/base/philox.h"
#include "weft/data/environment.h"

namespace weft {
namespace {

constexpr double kGravity = 9.8;
constexpr double kPoleMass = 0.1;
constexpr double kTotalMass = 1.0 + kPoleMass;
constexpr double kHalfLength = 0.5;  // of the pole, m
constexpr double kForce = 10.0;      // of a push, N
constexpr double kTick = 0.02;       // s
constexpr double kMostAngle = 12 * std::numbers::pi / 180;
constexpr double kMostPosition = 2.4;
constexpr std::int64_t kMostSteps = 500;

class CartPole final : public Environment {
 public:
  void reset(std::uint64_t seed) override {
    const RandomStream random{.seed = seed, .stream = 0x63617274, .step = 0};
    for (std::size_t i = 0; i < state_.size(); ++i) {
      state_[i] = 0.1 * uniform_from(random.word(i)) - 0.05;
    }
    steps_ = 0;
    show();
  }

  std::span<const float> observation() const override { return seen_; }

  Outcome act(std::int64_t action) override {
    auto& [x, x_dot, theta, theta_dot] = state_;
    const double force = action == 1 ? kForce : -kForce;
    const double sine = std::sin(theta);
    const double cosine = std::cos(theta);
    // Florian, "Correct equations for the dynamics of the cart-pole system",
    // 2007, without friction.
    const double push =
        (force + kPoleMass * kHalfLength * theta_dot * theta_dot * sine) /
        kTotalMass;
    const double theta_acceleration =
        (kGravity * sine - cosine * push) /
        (kHalfLength * (4.0 / 3.0 - kPoleMass * cosine * cosine / kTotalMass));
    const double acceleration = push - kPoleMass * kHalfLength *
                                           theta_acceleration * cosine /
                                           kTotalMass;
    // Euler's method, positions first, as Gym has it.
    x += kTick * x_dot;
    x_dot += kTick * acceleration;
    theta += kTick * theta_dot;
    theta_dot += kTick * theta_acceleration;
    show();
    ++steps_;
    const bool has_fallen =
        std::abs(x) > kMostPosition || std::abs(theta) > kMostAngle;
    return {.reward = 1, .is_over = has_fallen || steps_ == kMostSteps};
  }

 private:
  void show() {
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      seen_[i] = static_cast<float>(state_[i]);
    }
  }

  std::array<double, 4> state_{};  // x, its speed, the angle, its speed
  std::array<float, 4> seen_{};
  std::int64_t steps_ = 0;
};

}  // namespace

void register_environment_cart_pole(EnvironmentRegistry& environments) {
  environments.add({.name = "cart-pole",
                    .summary = "a pole on a cart, to be kept upright",
                    .observation = 4,
                    .actions = {"left", "right"},
                    .most_steps = kMostSteps,
                    .make = []() -> std::unique_ptr<Environment> {
                      return std::make_unique<CartPole>();
                    }});
}

}  // namespace weft
