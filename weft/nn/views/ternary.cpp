// Weights of three values: the sign of those above a threshold, 0 for the rest.
//
// Scaled (Li, Zhang and Liu, "Ternary weight networks", 2016, equations 5 and
// 6), the threshold is so many times the mean size of all elements, and the
// values are -a, 0 and a, a being the mean size of the elements above it. Else
// they are -1, 0 and 1, and the threshold is the number itself. The gradient
// goes straight through.
#include "weft/nn/straight_through.h"
#include "weft/nn/view.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/reduce.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

class Ternary : public ParameterView {
 public:
  explicit Ternary(const Options& options)
      : threshold_(option<double>(options, "threshold")),
        is_scaled_(option<bool>(options, "scaled")) {}

  Value value(const TensorType&, const Value& parameter,
              std::span<const Value>) const override {
    return nn::straight_through(parameter, [this](const Value& w) {
      return is_scaled_ ? scaled(w) : signs(w);
    });
  }

 private:
  Value signs(const Value& w) const {
    const Value zero = scalar_like(w, 0);
    return where(greater(abs(w), scalar_like(w, threshold_)), sign(w), zero);
  }

  Value scaled(const Value& w) const {
    const Value size = abs(w);
    const Value is_kept = greater(size, mean(size) * threshold_);
    const Value kept = where(is_kept, size, scalar_like(size, 0));
    // f16 and bf16 cannot count so far, nor hold such a sum.
    const DType wide = w.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
    const Value count = sum(cast(is_kept, wide));
    // Where nothing is kept all are 0, and not 0 divided by 0.
    const Value scale =
        sum(cast(kept, wide)) / maximum(count, scalar_like(count, 1));
    return where(is_kept, sign(w) * cast(scale, w.dtype()), scalar_like(w, 0));
  }

  double threshold_;
  bool is_scaled_;
};

}  // namespace

void register_parameter_view_ternary(ParameterViewRegistry& views) {
  views.add({.name = "ternary",
             .summary = "of three values: -a, 0 and a",
             .options = {{"threshold",
                          0.7,
                          "size up to which an element is 0: times the mean "
                          "size of all, or the size itself if not scaled",
                          {.least = 0}},
                         {"scaled", true,
                          "a is the mean size of the rest, and else 1"}},
             .make = [](const Options& options) {
               return std::unique_ptr<ParameterView>(
                   std::make_unique<Ternary>(options));
             }});
}

}  // namespace weft
