// L2HMC: Hamiltonian Monte Carlo whose leapfrog steps are bent by small
// networks (Levy, Hoffman, Sohl-Dickstein, "Generalizing Hamiltonian Monte
// Carlo with Neural Networks", 2018). It draws from a mixture of two Gaussians
// in the plane.
//
// The sampler is written once, with Values: it runs eagerly, it is staged by
// decorating one call (main.cpp), and it can be put into a function by hand.
#pragma once

#include <cmath>
#include <utility>

#include "weft/nn/linear.h"
#include "weft/nn/module.h"
#include "weft/ops/ops.h"
#include "weft/runtime/eager.h"

namespace weft::examples {

struct L2hmcOptions {
  int leapfrog_steps = 10;
  double step_size = 0.1;
  std::int64_t hidden = 10;
};

// What bends one update: scale S, translation T and transformation Q of the
// paper, as functions of two vectors and the time.
struct Bend {
  Value scale;
  Value translation;
  Value transformation;
};

class BendingNetwork : public nn::Module {
 public:
  explicit BendingNetwork(std::int64_t hidden)
      : from_first_(child("from_first", nn::Linear(2, hidden))),
        from_second_(child("from_second", nn::Linear(2, hidden))),
        from_time_(child("from_time", nn::Linear(2, hidden))),
        inner_(child("inner", nn::Linear(hidden, hidden))),
        scale_(child("scale", nn::Linear(hidden, 2))),
        translation_(child("translation", nn::Linear(hidden, 2))),
        transformation_(child("transformation", nn::Linear(hidden, 2))) {}

  Bend operator()(const Value& first, const Value& second, const Value& time) {
    const Value h = relu(inner_(
        relu(from_first_(first) + from_second_(second) + from_time_(time))));
    return {tanh(scale_(h)), translation_(h), tanh(transformation_(h))};
  }

 private:
  nn::Linear& from_first_;
  nn::Linear& from_second_;
  nn::Linear& from_time_;
  nn::Linear& inner_;
  nn::Linear& scale_;
  nn::Linear& translation_;
  nn::Linear& transformation_;
};

class L2hmc : public nn::Module {
 public:
  explicit L2hmc(L2hmcOptions options = {})
      : options_(options),
        for_momentum_(child("momentum", BendingNetwork(options.hidden))),
        for_position_(child("position", BendingNetwork(options.hidden))) {}

  // -log of the density of each row of x: f32[chains, 2] -> f32[chains, 1].
  static Value energy(const Value& x) {
    const auto from = [&](double center) {
      return sum(square(x - center), {1}, /*keep_dims=*/true) * 0.5;
    };
    const Value near = from(2);
    const Value far = from(-2);
    const Value least = minimum(near, far);
    return least - log(exp(least - near) + exp(least - far));
  }

  // One move of every chain, forward or backward in time, and the probability
  // with which it was accepted. `key` is i64[2].
  struct Move {
    Value position;     // f32[chains, 2]
    Value probability;  // f32[chains, 1]
    static auto leaves(auto& self) {
      return std::tie(self.position, self.probability);
    }
  };
  Move move(const Value& x, const Value& key, bool is_forward) {
    const Shape shape = x.shape();
    State state{x, normal(key, shape, 0),
                full({DType::kF32, {shape[0], 1}}, 0)};
    const Value before = total_energy(state);
    for (int i = 0; i < options_.leapfrog_steps; ++i) {
      const int step = is_forward ? i : options_.leapfrog_steps - 1 - i;
      state = is_forward ? forward(state, step) : backward(state, step);
    }
    const Value change = before - total_energy(state) + state.log_jacobian;
    const Value probability = exp(minimum(change, scalar_like(change, 0)));
    const Value dice = uniform(key, {shape[0], 1}, 1);
    return {where(less(dice, probability), state.position, x), probability};
  }

 private:
  struct State {
    Value position;
    Value momentum;
    Value log_jacobian;
  };

  // The Hamiltonian, with a standard normal momentum.
  static Value total_energy(const State& s) {
    return energy(s.position) +
           sum(square(s.momentum), {1}, /*keep_dims=*/true) * 0.5;
  }

  static Value energy_gradient(Value x) {
    Tape tape;
    tape.watch(x);
    return tape.gradient(sum(energy(x)), {&x, 1})[0];
  }

  static Value row_sum(const Value& x) {
    return sum(x, {1}, /*keep_dims=*/true);
  }

  // (cos, sin) of the step's share of a turn, for every chain.
  Value time(const Value& x, int step) const {
    const double turn = 2 * M_PI * step / options_.leapfrog_steps;
    const TensorType column{DType::kF32, {x.shape()[0], 1}};
    return concat(
        std::vector{full(column, std::cos(turn)), full(column, std::sin(turn))},
        1);
  }

  // Which coordinate moves first, by turns; and the other one.
  static std::pair<Value, Value> masks(int step) {
    const TensorType one{DType::kF32, {1, 1}};
    const Value first = concat(
        std::vector{full(one, step % 2 == 0), full(one, step % 2 != 0)}, 1);
    return {first, 1 - first};
  }

  // Equations (4) and (5).
  State forward(State s, int step) {
    const Value t = time(s.position, step);
    const auto [first, second] = masks(step);
    s = push(s, t);
    s = drift(s, t, first, second);
    s = drift(s, t, second, first);
    return push(s, t);
  }

  // The inverse of forward().
  State backward(State s, int step) {
    const Value t = time(s.position, step);
    const auto [first, second] = masks(step);
    s = pull(s, t);
    s = drift_back(s, t, second, first);
    s = drift_back(s, t, first, second);
    return pull(s, t);
  }

  // Half a step of the momentum.
  State push(const State& s, const Value& t) {
    const double e = options_.step_size;
    const Value slope = energy_gradient(s.position);
    const Bend b = for_momentum_(s.position, slope, t);
    return {s.position,
            s.momentum * exp(b.scale * (e / 2)) -
                (slope * exp(b.transformation * e) + b.translation) * (e / 2),
            s.log_jacobian + row_sum(b.scale) * (e / 2)};
  }

  State pull(const State& s, const Value& t) {
    const double e = options_.step_size;
    const Value slope = energy_gradient(s.position);
    const Bend b = for_momentum_(s.position, slope, t);
    return {s.position,
            (s.momentum +
             (slope * exp(b.transformation * e) + b.translation) * (e / 2)) *
                exp(b.scale * (-e / 2)),
            s.log_jacobian - row_sum(b.scale) * (e / 2)};
  }

  // A step of the coordinates in `moving`, bent by the others.
  State drift(const State& s, const Value& t, const Value& moving,
              const Value& resting) {
    const double e = options_.step_size;
    const Bend b = for_position_(s.position * resting, s.momentum, t);
    const Value moved =
        s.position * exp(b.scale * e) +
        (s.momentum * exp(b.transformation * e) + b.translation) * e;
    return {s.position * resting + moved * moving, s.momentum,
            s.log_jacobian + row_sum(b.scale * moving) * e};
  }

  State drift_back(const State& s, const Value& t, const Value& moving,
                   const Value& resting) {
    const double e = options_.step_size;
    const Bend b = for_position_(s.position * resting, s.momentum, t);
    const Value moved =
        (s.position -
         (s.momentum * exp(b.transformation * e) + b.translation) * e) *
        exp(b.scale * -e);
    return {s.position * resting + moved * moving, s.momentum,
            s.log_jacobian - row_sum(b.scale * moving) * e};
  }

  L2hmcOptions options_;
  BendingNetwork& for_momentum_;
  BendingNetwork& for_position_;
};

}  // namespace weft::examples
