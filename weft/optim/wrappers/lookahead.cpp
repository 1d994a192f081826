// Lookahead (Zhang et al., "Lookahead optimizer: k steps forward, 1 step back",
// NeurIPS 2019, algorithm 1): after every `steps` steps of the inner optimizer,
//
//   slow <- slow + alpha * (p - slow)
//   p    <- slow
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/optim/every.h"
#include "weft/optim/wrapper.h"

namespace weft {
namespace {

class Lookahead : public OptimizerWrapper {
 public:
  Lookahead(std::unique_ptr<Optimizer> inner, std::int64_t steps, double alpha)
      : OptimizerWrapper(std::move(inner)), steps_(steps), alpha_(alpha) {}

 protected:
  std::vector<Slot> own_slots(const ParameterInfo& parameter) const override {
    return {{.name = "slow", .type = parameter.type, .is_copy = true}};
  }

  void update_around(std::span<ParameterStep> parameters,
                     std::span<Value> shared, Own& own,
                     const StepTime& time) const override {
    inner().update(parameters, shared, time);
    const Value is_due = is_every(steps_, time);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      Value& fast = parameters[i].parameter;
      Value& slow = own.of_parameter[i][0];
      slow = where(is_due, slow + (fast - slow) * alpha_, slow);
      fast = where(is_due, slow, fast);
    }
  }

 private:
  std::int64_t steps_;
  double alpha_;
};

}  // namespace

void register_optimizer_wrapper_lookahead(OptimizerWrapperRegistry& wrappers) {
  wrappers.add(
      {.name = "lookahead",
       .summary = "after some steps, goes back part of the way",
       .options = {{"steps",
                    std::int64_t{5},
                    "of the inner optimizer",
                    kAtLeastOne,
                    {},
                    "steps"},
                   {"alpha", 0.5, "share of the way that is kept", kBelowOne}},
       .make = [](std::unique_ptr<Optimizer> inner,
                  const Options& options) -> std::unique_ptr<Optimizer> {
         return std::make_unique<Lookahead>(
             std::move(inner), option<std::int64_t>(options, "steps"),
             option<double>(options, "alpha"));
       }});
}

}  // namespace weft
