// Weights of which a mask that does not change keeps a share: the largest ones
// of the first values (Han et al., "Learning both weights and connections for
// efficient neural networks", NeurIPS 2015), or some that are drawn. The others
// are 0.
#include <cmath>

#include "weft/nn/straight_through.h"
#include "weft/nn/view.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/shape.h"
#include "weft/ops/sort.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

class Masked : public ParameterView {
 public:
  explicit Masked(const Options& options)
      : density_(option<double>(options, "density")),
        is_drawn_(option<std::string>(options, "by") == "random"),
        passes_all_(option<std::string>(options, "gradient") == "all") {}

  std::optional<std::string> declines(
      const TensorType& parameter) const override {
    const std::int64_t count = parameter.shape.num_elements();
    if (kept_of(count) > 0) return std::nullopt;
    return fmt::format(
        "none of its {} elements would be kept; take a density of at least "
        "{:.2g}",
        count, 1.0 / static_cast<double>(count));
  }

  std::vector<ViewPart> parts(const TensorType& parameter) const override {
    return {{"mask", {DType::kBool, parameter.shape}, nn::Role::kMask}};
  }

  std::vector<Tensor> first_values(const Tensor& parameter, std::uint64_t seed,
                                   std::string_view name) const override {
    const std::string stream = std::string(name) + ".mask";
    const Value ranks =
        is_drawn_ ? Value(initial_value(parameter.type(), nn::Init::uniform(1),
                                        seed, stream))
                  : abs(Value(parameter));
    // Ties are kept in the order of the elements, so that the share is exact.
    const std::int64_t count = parameter.size();
    const Value order =
        sort(reshape(ranks, {count}), /*descending=*/true).second;
    Tensor mask = Tensor::zeros({DType::kBool, parameter.type().shape});
    const auto* at = order.tensor().data<std::int64_t>();
    for (std::int64_t i = 0; i < kept_of(count); ++i) {
      mask.data<bool>()[at[i]] = true;
    }
    return {mask};
  }

  Value value(const TensorType&, const Value& parameter,
              std::span<const Value> parts) const override {
    const auto masked = [&](const Value& w) {
      return where(parts[0], w, scalar_like(w, 0));
    };
    return passes_all_ ? nn::straight_through(parameter, masked)
                       : masked(parameter);
  }

 private:
  std::int64_t kept_of(std::int64_t count) const {
    return std::llround(density_ * static_cast<double>(count));
  }

  double density_;
  bool is_drawn_;
  bool passes_all_;
};

}  // namespace

void register_parameter_view_masked(ParameterViewRegistry& views) {
  views.add(
      {.name = "masked",
       .summary = "with a share of the elements, the others are 0",
       .options = {{"density",
                    0.1,
                    "share of the elements that is kept",
                    {.least = 0, .most = 1, .is_open_below = true}},
                   {"by",
                    std::string("magnitude"),
                    "which are kept: the largest of the first values, or any",
                    {},
                    {"magnitude", "random"}},
                   {"gradient",
                    std::string("kept"),
                    "what changes: the elements that are kept, or all",
                    {},
                    {"kept", "all"}}},
       .make = [](const Options& options) {
         return std::unique_ptr<ParameterView>(
             std::make_unique<Masked>(options));
       }});
}

}  // namespace weft
