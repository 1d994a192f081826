// YellowFin, which tunes momentum and rate itself (Zhang and Mitliagkas,
// "YellowFin and the Art of Momentum Tuning", MLSys 2019). In each step it
// measures, over all parameters together and by moving means,
//
//   h_min, h_max  the least and largest ||g||^2 of late: means of logarithms
//   C             mean(||g||^2) - ||mean(g)||^2
//   D             mean(mean(||g||) / mean(||g||^2))
//
// chooses momentum and rate for these (single_step.h), and moves as momentum
// does:
//
//   m <- momentum * m + g
//   p <- p - lr * rate * m
//
// The paper keeps differences of p in place of m; while the rate changes slowly
// both are the same. What the paper leaves open is as in its authors' code:
// constants, clipping, the slow start.
//
// Where workers train copies and meet at their mean, each measures gradients of
// its own, whose noise is n times that of their mean, which is what the model
// moves by. What is measured then stands for the mean (mean_of = n): the square
// of its norm is that of a worker's without (1 - 1 / n) of the variance, and at
// least 1 / n of it.
//
// Late gradients add momentum of their own. Closed-loop YellowFin measures how
// much there is in all (total_momentum.h), and lets its own follow what is
// chosen:
//
//   momentum <- momentum + gain * (chosen - total)
#include <algorithm>
#include <limits>

#include "weft/base/ranges.h"
#include "weft/graph/location.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/reduce.h"
#include "weft/ops/rounding.h"
#include "weft/ops/unary.h"
#include "weft/optim/optimizer.h"
#include "weft/optim/single_step.h"
#include "weft/optim/total_momentum.h"

namespace weft {
namespace {

class YellowFin : public Optimizer {
 public:
  explicit YellowFin(const Options& options)
      : first_rate_(option<double>(options, "first_rate")),
        first_momentum_(option<double>(options, "first_momentum")),
        decay_(option<double>(options, "decay")),
        window_(option<std::int64_t>(options, "window")),
        slow_start_(option<std::int64_t>(options, "slow_start")),
        clips_(option<bool>(options, "clip")),
        guard_(option<double>(options, "guard")),
        mean_of_(option<std::int64_t>(options, "mean_of")),
        is_nesterov_(option<bool>(options, "nesterov")),
        is_smooth_(option<bool>(options, "smooth")),
        is_sparse_(option<bool>(options, "sparse")),
        weight_decay_(option<double>(options, "weight_decay")) {
    if (!option<bool>(options, "closed_loop")) return;
    gain_ = option<double>(options, "gain");
    loop_.emplace(option<std::int64_t>(options, "elements"),
                  option<std::int64_t>(options, "most_late"));
  }

  std::vector<Slot> slots(const ParameterInfo& parameter) const override {
    return {{"velocity", parameter.type}, {"mean", parameter.type}};
  }

  std::vector<Slot> shared_slots() const override {
    const TensorType number{DType::kF64, {}};
    std::vector<Slot> all = {
        {"measured", {DType::kI64, {}}},
        {"window", {DType::kF64, {window_}}},
        {"log_least", number},
        {"log_most", number},
        {"square", number},
        {"norm", number},
        {"distance", number},
        {"most", number},
        {.name = "momentum", .type = number, .initial = first_momentum_},
        {.name = "rate", .type = number, .initial = first_rate_}};
    if (is_sparse_) all.push_back({"density", number});
    if (!loop_) return all;
    all.push_back({"chosen_momentum", number});
    all.push_back({"total_momentum", number});
    for (Slot& slot : loop_->slots()) all.push_back(std::move(slot));
    return all;
  }

  bool sees_all_parameters() const override { return true; }
  bool has_momentum() const override { return true; }
  bool measures_sizes() const override { return true; }

  void update(std::span<ParameterStep> parameters, std::span<Value> shared,
              const StepTime& time) const override {
    // Where nothing moves there is nothing to measure.
    if (std::ranges::all_of(parameters, [](const ParameterStep& step) {
          return step.parameter.shape().num_elements() == 0;
        })) {
      return;
    }
    const std::vector<Value> before(shared.begin(), shared.end());
    decay_weights(parameters);
    const Sums sums = sum_up(parameters);
    // One that is no number is in the parameters at once, as with every other
    // optimizer, and ends a training: left out without a word it would hide
    // what is wrong.
    const Value is_first =
        equal(before[kMeasured], scalar_like(before[kMeasured], 0));
    // Scales gradients down to a squared norm of at most `times` h_max, where
    // there is one: before the first, sparse gradients may be 0 throughout.
    const auto clipped = [&](double times) {
      const Value& most = before[kMost];
      const Value scale = sqrt(most * times / sums.square);
      const Value one = scalar_like(scale, 1);
      return where(equal(most, scalar_like(most, 0)), one, minimum(scale, one));
    };
    // What explodes must not ruin means that remember a thousand steps.
    const Value guarded = guard_ > 0 ? clipped(guard_) : scalar(1, DType::kF64);
    tune(measure(sums, guarded, shared), is_first, shared);

    const auto as_rate = [&](const Value& x) {
      return cast(x, time.lr.dtype());
    };
    // In a loop, what is chosen acts from the next step on.
    const std::span<const Value> acting =
        loop_ ? std::span<const Value>(before) : shared;
    const Scales scales{.measured = as_rate(guarded * (1 - decay_)),
                        .applied = as_rate(clips_ ? clipped(1) : guarded),
                        .momentum = as_rate(acting[kMomentum]),
                        .rate = as_rate(acting[kRate]) * time.lr};
    std::vector<TotalMomentum::Move> moves;
    for (ParameterStep& step : parameters) {
      const LayerScope scope("optimizer/" + step.name);
      moves.push_back(move(step, scales));
    }
    if (loop_) follow_total(moves, scales, time, before[kMomentum], shared);
  }

 private:
  // What is remembered of all parameters together.
  enum Shared : std::size_t {
    kMeasured,  // i64[]: steps
    kWindow,    // squared norms of the last gradients
    kLogLeast,
    kLogMost,
    kSquare,  // mean of squared norms
    kNorm,
    kDistance,
    kMost,  // h_max, by which the next gradient is clipped
    kMomentum,
    kRate,
    kDensity,
  };

  // Where the slots of the loop begin, behind the chosen and the total
  // momentum.
  std::size_t loop_slots() const { return kDensity + (is_sparse_ ? 3 : 2); }

  // Over the elements of all parameters, f64[].
  struct Sums {
    Value square;       // of g
    Value with_mean;    // of g * mean
    Value mean_square;  // of mean
    Value density;      // the share of elements of g that are not 0
  };

  // What one pass over the parameters needs of the pass before it.
  struct Scales {
    Value measured;  // of a gradient that joins its mean
    Value applied;   // of one that joins the velocity
    Value momentum;
    Value rate;
  };

  void decay_weights(std::span<ParameterStep> parameters) const {
    if (weight_decay_ == 0) return;
    for (ParameterStep& step : parameters) {
      step.gradient = step.gradient + step.parameter * weight_decay_;
    }
  }

  // The first pass.
  Sums sum_up(std::span<const ParameterStep> parameters) const {
    const Value zero = scalar(0, DType::kF64);
    Sums sums{zero, zero, zero, zero};
    Value elements = zero;
    const auto add = [](Value& total, const Value& values) {
      total = total + sum(values);
    };
    for (const ParameterStep& step : parameters) {
      // Squares of what f32 holds may lie beyond all that it does.
      const Value g = cast(step.gradient, DType::kF64);
      const Value mean = cast(step.slots[1], DType::kF64);
      add(sums.square, square(g));
      add(sums.with_mean, g * mean);
      add(sums.mean_square, square(mean));
      if (!is_sparse_) continue;
      add(sums.density, cast(not_equal(g, scalar_like(g, 0)), DType::kF64));
      elements = elements + element_count(g.shape(), DType::kF64);
    }
    if (is_sparse_) sums.density = sums.density / elements;
    return sums;
  }

  // Follows what the gradients, scaled by `guarded`, say of the objective.
  NoisyQuadratic measure(const Sums& sums, const Value& guarded,
                         std::span<Value> shared) const {
    const Value count = shared[kMeasured] + 1.0;
    const Value age = cast(count, DType::kF64);
    // A moving mean begins at 0, of which this is what is left.
    const Value weight = 1.0 - power(scalar_like(age, decay_), age);
    const auto follow = [&](Shared slot, const Value& now) {
      shared[slot] = shared[slot] * decay_ + now * (1 - decay_);
      return shared[slot] / weight;
    };
    const Value own = sums.square * weft::square(guarded);
    const Value squares = follow(kSquare, own);
    // The mean of gradients is moved in the next pass; the square of its norm
    // follows from what is known before.
    const Value joins = guarded * (1 - decay_);
    const Value mean_square = sums.mean_square * (decay_ * decay_) +
                              sums.with_mean * joins * (2 * decay_) +
                              sums.square * weft::square(joins);
    const Value variance =
        // A single gradient has none, but for rounding.
        maximum(squares - mean_square / weft::square(weight),
                scalar_like(squares, 0));

    const Value square = of_mean(own, variance);
    const auto [least, most] = extremes(square + kTuningSmall, shared);
    shared[kMeasured] = count;
    const Value norms = follow(kNorm, sqrt(square));
    NoisyQuadratic found{
        .least_curvature = exp(follow(kLogLeast, log(least + kTuningSmall))),
        .most_curvature = exp(follow(kLogMost, log(most + kTuningSmall))),
        .variance = maximum(variance / static_cast<double>(mean_of_),
                            scalar_like(variance, kTuningSmall)),
        .distance = follow(
            kDistance, norms / (of_mean(squares, variance) + kTuningSmall))};
    if (is_sparse_) {
      // An element that is mostly 0 is measured in few of the steps.
      const Value density = follow(kDensity, sums.density);
      found.least_curvature = found.least_curvature * density;
      found.most_curvature = found.most_curvature * density;
      found.variance = found.variance * density;
      found.distance = found.distance / (sqrt(density) + kTuningSmall);
    }
    // A worker's own gradient is as much longer as its noise is.
    shared[kMost] = found.most_curvature + own_noise(variance);
    return found;
  }

  // What one gradient has more noise than the mean of all, by its variance.
  Value own_noise(const Value& variance) const {
    return variance * (1 - 1 / static_cast<double>(mean_of_));
  }

  // The squared norm of the mean of gradients, by that of one of them.
  Value of_mean(const Value& square, const Value& variance) const {
    return maximum(square - own_noise(variance),
                   square / static_cast<double>(mean_of_));
  }

  // The least and largest of the window, `now` included.
  std::pair<Value, Value> extremes(const Value& now,
                                   std::span<Value> shared) const {
    const Value& measured = shared[kMeasured];
    const Value place = iota(window_);
    const Value is_now = equal(
        place, remainder(measured,
                         scalar_like(measured, static_cast<double>(window_))));
    Value& window = shared[kWindow];
    window = where(is_now, now, window);
    const Value is_filled = less_equal(place, measured);
    constexpr double kBeyond = std::numeric_limits<double>::max();
    return {reduce_min(where(is_filled, window, scalar_like(window, kBeyond))),
            reduce_max(where(is_filled, window, scalar_like(window, 0)))};
  }

  // Nothing is tuned by a single gradient, which has no variance.
  void tune(const NoisyQuadratic& measured, const Value& is_first,
            std::span<Value> shared) const {
    const MomentumTuning tuned = single_step(measured);
    const Value age = cast(shared[kMeasured], DType::kF64);
    const Value started =
        minimum(age / static_cast<double>(slow_start_), scalar_like(age, 1));
    const auto take = [&](Shared slot, const Value& value) {
      const Value& old = shared[slot];
      const Value next =
          is_smooth_ ? old * decay_ + value * (1 - decay_) : value;
      shared[slot] = where(is_first, old, next);
    };
    take(kMomentum, tuned.momentum);
    take(kRate, tuned.rate * started);
  }

  // The second pass. Gives the gradient and the direction of the move.
  TotalMomentum::Move move(ParameterStep& step, const Scales& scales) const {
    const DType dtype = step.parameter.dtype();
    const auto of = [&](const Value& x) { return to_dtype(x, dtype); };
    const Value g = step.gradient * of(scales.applied);
    const Value velocity = step.slots[0] * of(scales.momentum) + g;
    const Value direction =
        is_nesterov_ ? velocity * of(scales.momentum) + g : velocity;
    step.parameter = step.parameter - direction * of(scales.rate);
    step.slots[0] = velocity;
    step.slots[1] =
        step.slots[1] * decay_ + step.gradient * of(scales.measured);
    return {g, direction};
  }

  // Closes the loop. `shared` has the momentum that was chosen.
  void follow_total(std::span<const TotalMomentum::Move> moves,
                    const Scales& scales, const StepTime& time,
                    const Value& acted, std::span<Value> shared) const {
    const std::size_t first = loop_slots() - 2;
    const Value chosen = shared[kMomentum];
    const auto [total, is_there] =
        loop_->measure(moves, scales.rate, time, shared.subspan(loop_slots()));
    // Momentum of 1, or of -1, would never settle.
    constexpr double kMostMomentum = 0.999;
    const Value next =
        clamp(acted + (chosen - total) * gain_, -kMostMomentum, kMostMomentum);
    shared[kMomentum] = where(is_there, next, acted);
    shared[first] = chosen;
    // What is told is as slow as the loop: one estimate is a rough one.
    Value& told = shared[first + 1];
    told = where(is_there, told + (total - told) * gain_, told);
  }

  double first_rate_;
  double first_momentum_;
  double decay_;
  std::int64_t window_;
  std::int64_t slow_start_;
  bool clips_;
  double guard_;
  std::int64_t mean_of_;
  bool is_nesterov_;
  bool is_smooth_;
  bool is_sparse_;
  double weight_decay_;
  double gain_ = 0;
  std::optional<TotalMomentum> loop_;
};

}  // namespace

void register_optimizer_yellowfin(OptimizerRegistry& optimizers) {
  optimizers.add(
      {.name = "yellowfin",
       .summary = "momentum, with a rate and a momentum that it finds itself",
       .options =
           {{"first_rate", 1e-4, "of the first step, in which nothing is tuned",
             kPositive},
            {"first_momentum", 0.0, "of the first step", kBelowOne},
            {"decay", 0.999, "of the moving means", kBelowOne},
            {.name = "window",
             .value = std::int64_t{20},
             .summary = "whose least and largest gradient stand for curvatures",
             .range = {.least = 1, .most = 1 << 16},
             .unit = "steps"},
            {.name = "slow_start",
             .value = std::int64_t{200},
             .summary = "over which the rate grows to what is found",
             .range = {.least = 1, .most = 1 << 30},
             .unit = "steps"},
            {"clip", true,
             "gradients are scaled down to the largest curvature of late"},
            {.name = "guard",
             .value = 100.0,
             .summary =
                 "times that a gradient may exceed it, squared, where it "
                 "is measured; 0: any",
             .range = {.least = 1, .has_zero = true}},
            {.name = "mean_of",
             .value = std::int64_t{1},
             .summary = "copies that workers train and average (local_sgd, "
                        "adacomm): what each measures then stands for the "
                        "mean of their gradients, which has less noise",
             .range = {.least = 1, .most = 1 << 16}},
            {"nesterov", false, "looks a step of momentum ahead"},
            {"smooth", false, "rate and momentum follow what is found slowly"},
            {"sparse", false,
             "what is measured counts gradients that are mostly 0 by the share "
             "that is not"},
            {"weight_decay", 0.0, "added to the gradient, times p", kBelowOne},
            {"closed_loop", false,
             "momentum makes up for what late gradients add to it"},
            {"gain", 0.01, "by which it follows in a step", kInside},
            {.name = "elements",
             .value = std::int64_t{1000},
             .summary = "of all parameters by which total momentum is measured",
             .range = {.least = 1, .most = 1 << 24}},
            {.name = "most_late",
             .value = std::int64_t{64},
             .summary = "by which a gradient may be late and still be measured",
             .range = {.least = 1, .most = 1 << 16},
             .unit = "updates"}},
       .default_lr = 1.0,
       .make = [](const Options& options) -> std::unique_ptr<Optimizer> {
         return std::make_unique<YellowFin>(options);
       }});
}

}  // namespace weft
