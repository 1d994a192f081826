// The plain mean of the iterates from a step on, which stands in for them where
// the model is used (Polyak and Juditsky, "Acceleration of stochastic
// approximation by averaging", SIAM J. Control Optim. 1992). With `every`, of
// every so many of them only: SWA, where the rate goes up and down in between
// (Izmailov et al., "Averaging weights leads to wider optima and better
// generalization", UAI 2018, algorithm 1). The n-th iterate p that counts:
//
//   average <- (1 - 1/n) * average + 1/n * p
//
// Before the first, it is the last iterate.
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/unary.h"
#include "weft/optim/every.h"
#include "weft/optim/wrapper.h"

namespace weft {
namespace {

class Average : public OptimizerWrapper {
 public:
  Average(std::unique_ptr<Optimizer> inner, std::int64_t start,
          std::int64_t every, bool evaluates)
      : OptimizerWrapper(std::move(inner)),
        start_(static_cast<double>(start)),
        every_(every),
        evaluates_(evaluates) {}

 protected:
  std::vector<Slot> own_slots(const ParameterInfo& parameter) const override {
    return {{.name = "average",
             .type = parameter.type,
             .is_copy = true,
             .stands_in = evaluates_}};
  }

  void update_around(std::span<ParameterStep> parameters,
                     std::span<Value> shared, Own& own,
                     const StepTime& time) const override {
    inner().update(parameters, shared, time);
    const Value share = share_of(time);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      Value& average = own.of_parameter[i][0];
      const Value own_share = to_dtype(share, average.dtype());
      average =
          average * (1.0 - own_share) + parameters[i].parameter * own_share;
    }
  }

 private:
  // f64[]: of this step's iterate in the average.
  Value share_of(const StepTime& time) const {
    const Value since = time.number - start_;
    const Value zero = scalar_like(since, 0);
    const Value count = since / static_cast<double>(every_) + 1.0;
    return where(less(since, zero), scalar_like(since, 1),
                 where(is_every(every_, {time.lr, since}), 1.0 / count, zero));
  }

  double start_;
  std::int64_t every_;
  bool evaluates_;
};

}  // namespace

void register_optimizer_wrapper_average(OptimizerWrapperRegistry& wrappers) {
  wrappers.add(
      {.name = "average",
       .summary = "the mean of parameters from a step on, which the model is "
                  "measured and used with",
       .options = {{"start", std::int64_t{1}, "the first step that counts"},
                   {"every", std::int64_t{1}, "steps from one to the next"},
                   {"evaluate", true,
                    "whether it stands in for the parameters: for what is "
                    "measured, the best epoch, predictions, exports"}},
       .make = [](std::unique_ptr<Optimizer> inner,
                  const Options& options) -> std::unique_ptr<Optimizer> {
         return std::make_unique<Average>(
             std::move(inner), require_count(options, "start", "average"),
             require_count(options, "every", "average"),
             option<bool>(options, "evaluate"));
       }});
}

}  // namespace weft
