// Rows of a table that a step has no gradient for wait: neither weight decay
// nor momentum moves them, and what is remembered of them stays. The others
// become what the inner optimizer makes of them.
//
// So a step costs what it looks up, with any optimizer (row_gradient.h). It is
// another method, and therefore asked for: a word that comes once in a thousand
// steps decays a thousandth as fast, and Adam's means are over the steps that
// had it (the "lazy" Adam of TensorFlow's, the sparse one of PyTorch's). Bias
// corrections count all steps.
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/optim/wrapper.h"

namespace weft {
namespace {

// bool, [rows, 1…]: whether a row has a gradient. One that was looked up and
// got zero has none, so that it makes no difference whether a gradient comes as
// rows or as a table, as it does from other workers.
Value has_gradient(const Value& gradient) {
  const Value is_set = not_equal(gradient, scalar_like(gradient, 0));
  Integers axes;
  for (int axis = 1; axis < gradient.shape().rank(); ++axis) {
    axes.push_back(axis);
  }
  // Without axes, all of them would be reduced.
  return axes.empty() ? is_set : any(is_set, axes, /*keep_dims=*/true);
}

class LazyRows : public OptimizerWrapper {
 public:
  explicit LazyRows(std::unique_ptr<Optimizer> inner)
      : OptimizerWrapper(std::move(inner)) {}

  bool keeps_without_gradient(std::string_view) const override { return true; }

 protected:
  void update_around(std::span<ParameterStep> parameters,
                     std::span<Value> shared, Own&,
                     const StepTime& time) const override {
    const std::vector<ParameterStep> before(parameters.begin(),
                                            parameters.end());
    inner().update(parameters, shared, time);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const Value is_read = has_gradient(before[i].gradient);
      Value& parameter = parameters[i].parameter;
      parameter = where(is_read, parameter, before[i].parameter);
      for (std::size_t slot = 0; slot < before[i].slots.size(); ++slot) {
        Value& next = parameters[i].slots[slot];
        next = where(is_read, next, before[i].slots[slot]);
      }
    }
  }
};

}  // namespace

void register_optimizer_wrapper_lazy_rows(OptimizerWrapperRegistry& wrappers) {
  wrappers.add(
      {.name = "lazy_rows",
       .summary = "rows of a table that a batch has not read wait, also for "
                  "weight decay and momentum: for a group of tables",
       .options = {},
       .make = [](std::unique_ptr<Optimizer> inner,
                  const Options&) -> std::unique_ptr<Optimizer> {
         if (!inner->is_elementwise()) {
           throw Error(ErrorCode::kInvalidArgument, "lazy_rows",
                       "what it stands around moves rows by more than their "
                       "own gradients")
               .hint(
                   "have an optimizer that moves each element by itself, as "
                   "adam and momentum do, and put lazy_rows before others");
         }
         return std::make_unique<LazyRows>(std::move(inner));
       }});
}

}  // namespace weft
