// Phases for strongly convex functions, each from the average of the one before
// (Alistarh, Allen-Zhu and Li, "Byzantine Stochastic Gradient Descent", NeurIPS
// 2018, section 4; Hazan and Kale, "Beyond the regret minimization barrier",
// JMLR 2014). Phase p = 0, 1, … has 4^p times as many steps as the first:
//
//   p       <- p + 4^-p (what the inner optimizer makes of p - p), and from
//              there to the ball of radius 2^-p radius around the center
//   average <- the mean of the phase's iterates
//   at its end:  p, center <- average
//
// since the bound of an average's error falls as radius / sqrt(steps), which a
// phase quarters: half the radius holds the optimum then. A ball is of each
// parameter by itself.
#include <cmath>

#include "weft/base/ranges.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/unary.h"
#include "weft/optim/projection.h"
#include "weft/optim/wrapper.h"

namespace weft {
namespace {

// The last one has 16 million times the steps of the first, and does not end.
constexpr int kPhases = 13;

class Restart : public OptimizerWrapper {
 public:
  Restart(std::unique_ptr<Optimizer> inner, std::int64_t horizon, double radius)
      : OptimizerWrapper(std::move(inner)),
        horizon_(static_cast<double>(horizon)),
        radius_(radius) {}

 protected:
  std::vector<Slot> own_slots(const ParameterInfo& parameter) const override {
    return {{.name = "center", .type = parameter.type, .is_copy = true},
            {.name = "average",
             .type = parameter.type,
             .is_copy = true,
             .stands_in = true}};
  }

  void update_around(std::span<ParameterStep> parameters,
                     std::span<Value> shared, Own& own,
                     const StepTime& time) const override {
    std::vector<Value> before;
    for (const ParameterStep& step : parameters) {
      before.push_back(step.parameter);
    }
    inner().update(parameters, shared, time);
    const Phase phase = phase_at(time.number);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      Value& parameter = parameters[i].parameter;
      Value& center = own.of_parameter[i][0];
      Value& average = own.of_parameter[i][1];
      const auto as_parameter = [&](const Value& scalar) {
        return to_dtype(scalar, parameter.dtype());
      };
      parameter =
          before[i] + (parameter - before[i]) * as_parameter(phase.rate);
      const Value moved = parameter - center;
      const Value length = norm_over(moved, {});
      const Value radius = as_parameter(phase.radius);
      parameter = where(greater(length, radius),
                        center + moved / length * radius, parameter);
      const Value share = as_parameter(1.0 / phase.count);
      average = average * (1.0 - share) + parameter * share;
      parameter = where(phase.is_over, average, parameter);
      center = where(phase.is_over, average, center);
    }
  }

 private:
  // Scalars of the phase that a step belongs to.
  struct Phase {
    Value rate;     // 4^-p
    Value radius;   // of its ball
    Value count;    // of the step in it, from 1
    Value is_over;  // after this step
  };

  // The last step of phase p.
  double end_of(int phase) const {
    return horizon_ * (std::exp2(2 * (phase + 1)) - 1) / 3;
  }

  Phase phase_at(const Value& number) const {
    Value rate = scalar_like(number, 1);
    Value radius = scalar_like(number, radius_);
    Value begin = scalar_like(number, 0);
    Value is_over = equal(number, scalar_like(number, end_of(0)));
    for (int p = 1; p < kPhases; ++p) {
      const Value is_there =
          greater(number, scalar_like(number, end_of(p - 1)));
      rate = where(is_there, scalar_like(number, std::exp2(-2 * p)), rate);
      radius =
          where(is_there, scalar_like(number, radius_ * std::exp2(-p)), radius);
      begin = where(is_there, scalar_like(number, end_of(p - 1)), begin);
      is_over = where(is_there, equal(number, scalar_like(number, end_of(p))),
                      is_over);
    }
    return {rate, radius, number - begin, is_over};
  }

  double horizon_;
  double radius_;
};

}  // namespace

void register_optimizer_wrapper_restart(OptimizerWrapperRegistry& wrappers) {
  wrappers.add(
      {.name = "restart",
       .summary = "phases of four times the steps, a quarter of the rate and "
                  "half the radius, each from the average of the one before",
       .options = {{.name = "horizon",
                    .value = std::int64_t{1000},
                    .summary = "of the first phase",
                    .range = kAtLeastOne,
                    .unit = "steps"},
                   {"radius", 10.0,
                    "of the ball around where a phase begins, of each "
                    "parameter, in the first",
                    kPositive}},
       .make = [](std::unique_ptr<Optimizer> inner,
                  const Options& options) -> std::unique_ptr<Optimizer> {
         return std::make_unique<Restart>(
             std::move(inner), option<std::int64_t>(options, "horizon"),
             option<double>(options, "radius"));
       }});
}

}  // namespace weft
