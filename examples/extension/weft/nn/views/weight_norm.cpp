// A weight as a direction and, for each output, a length, which are trained in
// its place (Salimans and Kingma, "Weight normalization", NeurIPS 2016).
#include "weft/nn/view.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/reduce.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

class WeightNorm final : public ParameterView {
 public:
  std::optional<std::string> declines(
      const TensorType& parameter) const override {
    if (parameter.shape.rank() > 1) return std::nullopt;
    return "it has no inputs; choose a pattern that fits weights alone";
  }

  std::vector<ViewPart> parts(const TensorType& parameter) const override {
    const Shape outputs{parameter.shape.back()};
    return {{"direction", parameter, nn::Role::kTrainable},
            {"length", {parameter.dtype, outputs}, nn::Role::kTrainable}};
  }
  bool replaces_parameter() const override { return true; }

  // The model begins with the parameter's own value.
  std::vector<Tensor> first_values(const Tensor& parameter, std::uint64_t,
                                   std::string_view) const override {
    return {parameter, lengths(Value(parameter)).tensor()};
  }

  Value value(const TensorType&, const Value&,
              std::span<const Value> parts) const override {
    return parts[0] * (parts[1] / lengths(parts[0]));
  }

 private:
  // [outputs]: of what each output takes from its inputs.
  static Value lengths(const Value& weight) {
    Integers inputs;
    for (int axis = 0; axis + 1 < weight.shape().rank(); ++axis) {
      inputs.push_back(axis);
    }
    return sqrt(sum(weight * weight, inputs));
  }
};

}  // namespace

void register_parameter_view_weight_norm(ParameterViewRegistry& views) {
  views.add({.name = "weight-norm",
             .summary = "a direction times a length for each output",
             .options = {},
             .make = [](const Options&) -> std::unique_ptr<ParameterView> {
               return std::make_unique<WeightNorm>();
             }});
}

}  // namespace weft
