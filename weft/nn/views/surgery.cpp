// Weights below a threshold are 0, and come back when they have grown (Guo, Yao
// and Chen, "Dynamic network surgery for efficient DNNs", NeurIPS 2016,
// equations 3 to 5). In every step of training, with
//
//   t = mean |w| + deviations * standard deviation of |w|
//
// an element is left out below 0.9 t, comes back above 1.1 t, and else stays as
// it was. The gradient goes straight through, so that what is left out goes on
// changing.
#include "weft/nn/straight_through.h"
#include "weft/nn/view.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/reduce.h"
#include "weft/ops/stop_gradient.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

// On both sides of the threshold, against elements that come and go.
constexpr double kSlack = 0.1;

class Surgery : public ParameterView {
 public:
  explicit Surgery(double deviations) : deviations_(deviations) {}

  std::vector<ViewPart> parts(const TensorType& parameter) const override {
    return {{"mask", {DType::kBool, parameter.shape}, nn::Role::kMask}};
  }

  std::vector<Tensor> first_values(const Tensor& parameter, std::uint64_t,
                                   std::string_view) const override {
    const Value w = parameter;
    const Value all = logical_not(cast(zeros_like(w), DType::kBool));
    return {next_mask(w, all).tensor()};
  }

  std::vector<Value> next_parts(const Value& parameter,
                                std::span<const Value> parts) const override {
    return {next_mask(parameter, parts[0])};
  }

  Value value(const TensorType&, const Value& parameter,
              std::span<const Value> parts) const override {
    return nn::straight_through(parameter, [&](const Value& w) {
      return where(parts[0], w, scalar_like(w, 0));
    });
  }

 private:
  Value next_mask(const Value& parameter, const Value& mask) const {
    const Value size = abs(stop_gradient(parameter));
    const Value center = mean(size);
    const Value deviation = sqrt(mean(square(size - center)));
    const Value threshold = center + deviation * deviations_;
    return logical_and(
        logical_or(mask, greater(size, threshold * (1 + kSlack))),
        greater(size, threshold * (1 - kSlack)));
  }

  double deviations_;
};

}  // namespace

void register_parameter_view_surgery(ParameterViewRegistry& views) {
  views.add({.name = "surgery",
             .summary = "without small elements, which may grow and come back",
             .options = {{"deviations", 0.0,
                          "of the sizes above their mean where the threshold "
                          "lies; less keeps more"}},
             .make = [](const Options& options) {
               return std::unique_ptr<ParameterView>(std::make_unique<Surgery>(
                   option<double>(options, "deviations")));
             }});
}

}  // namespace weft
