// An exponential moving average of the iterates, which stands in for them where
// the model is used (Polyak and Juditsky, "Acceleration of stochastic
// approximation by averaging", SIAM J. Control Optim. 1992; this weighting:
// Tarvainen and Valpola, "Mean teachers are better role models", NeurIPS 2017):
//
//   ema <- ema + (1 - d) / (1 - d^t) * (p - ema)
//
// so that after t steps it is the mean of their results, weighted by d to the
// power of their age. The divisor, as that of Adam's bias corrections, keeps
// the first values out of it.
#include "weft/ops/arithmetic.h"
#include "weft/ops/unary.h"
#include "weft/optim/wrapper.h"

namespace weft {
namespace {

class Ema : public OptimizerWrapper {
 public:
  Ema(std::unique_ptr<Optimizer> inner, double decay, bool evaluates)
      : OptimizerWrapper(std::move(inner)),
        decay_(decay),
        evaluates_(evaluates) {}

 protected:
  std::vector<Slot> own_slots(const ParameterInfo& parameter) const override {
    return {{.name = "ema",
             .type = parameter.type,
             .is_copy = true,
             .stands_in = evaluates_}};
  }

  void update_around(std::span<ParameterStep> parameters,
                     std::span<Value> shared, Own& own,
                     const StepTime& time) const override {
    inner().update(parameters, shared, time);
    // In f64, as 1 - 0.9999^t has few digits in f32.
    const Value share =
        (1 - decay_) /
        (1.0 - power(scalar_like(time.number, decay_), time.number));
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      Value& ema = own.of_parameter[i][0];
      ema =
          ema + (parameters[i].parameter - ema) * to_dtype(share, ema.dtype());
    }
  }

 private:
  double decay_;
  bool evaluates_;
};

}  // namespace

void register_optimizer_wrapper_ema(OptimizerWrapperRegistry& wrappers) {
  wrappers.add(
      {.name = "ema",
       .summary = "a moving average of parameters, which the model is measured "
                  "and used with",
       .options = {{"decay", 0.999, "weight of a step beside the one after it"},
                   {"evaluate", true,
                    "whether it stands in for the parameters: for what is "
                    "measured, the best epoch, predictions, exports"}},
       .make = [](std::unique_ptr<Optimizer> inner,
                  const Options& options) -> std::unique_ptr<Optimizer> {
         require_range(options, "decay", 0, 1, "ema");
         return std::make_unique<Ema>(std::move(inner),
                                      option<double>(options, "decay"),
                                      option<bool>(options, "evaluate"));
       }});
}

}  // namespace weft
