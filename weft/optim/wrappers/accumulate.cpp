// Gradients of several batches as those of one: the inner optimizer makes a
// step after every `batches`, with the mean of their gradients, and counts its
// own steps.
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/optim/every.h"
#include "weft/optim/wrapper.h"

namespace weft {
namespace {

class Accumulate : public OptimizerWrapper {
 public:
  Accumulate(std::unique_ptr<Optimizer> inner, std::int64_t batches)
      : OptimizerWrapper(std::move(inner)), batches_(batches) {}

 protected:
  std::vector<Slot> own_slots(const ParameterInfo& parameter) const override {
    return {{"accumulated", parameter.type}};
  }

  void update_around(std::span<ParameterStep> parameters,
                     std::span<Value> shared, Own& own,
                     const StepTime& time) const override {
    const Value is_due = is_every(batches_, time);
    // Values never change, so that to keep them copies no tensor.
    const std::vector<ParameterStep> before(parameters.begin(),
                                            parameters.end());
    const std::vector<Value> shared_before(shared.begin(), shared.end());
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      Value& sum = own.of_parameter[i][0];
      sum = sum + parameters[i].gradient / static_cast<double>(batches_);
      parameters[i].gradient = sum;
    }
    // On steps that are due the quotient is whole: the inner optimizer counts
    // its own.
    inner().update(
        parameters, shared,
        {time.lr, time.number / static_cast<double>(batches_), time.late});
    // A graph has no step that is left out: what was computed is taken or not.
    const auto take = [&](Value& after, const Value& as_before) {
      after = where(is_due, after, as_before);
    };
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      take(parameters[i].parameter, before[i].parameter);
      for (std::size_t slot = 0; slot < before[i].slots.size(); ++slot) {
        take(parameters[i].slots[slot], before[i].slots[slot]);
      }
      Value& sum = own.of_parameter[i][0];
      sum = where(is_due, scalar_like(sum, 0), sum);
    }
    for (std::size_t i = 0; i < shared.size(); ++i) {
      take(shared[i], shared_before[i]);
    }
  }

 private:
  std::int64_t batches_;
};

}  // namespace

void register_optimizer_wrapper_accumulate(OptimizerWrapperRegistry& wrappers) {
  wrappers.add(
      {.name = "accumulate",
       .summary = "a step after several batches, with their mean gradient",
       .options = {{"batches", std::int64_t{4}, "of one step", kAtLeastOne}},
       .make = [](std::unique_ptr<Optimizer> inner,
                  const Options& options) -> std::unique_ptr<Optimizer> {
         return std::make_unique<Accumulate>(
             std::move(inner), option<std::int64_t>(options, "batches"));
       }});
}

}  // namespace weft
