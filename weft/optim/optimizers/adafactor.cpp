// Adafactor (Shazeer and Stern, "Adafactor: adaptive learning rates with
// sublinear memory cost", ICML 2018, algorithms 4 and 5): the second moments of
// a matrix are kept as the means of its rows and of its columns.
//
//   b  = 1 - t^-decay
//   R <- b * R + (1 - b) * mean over columns of (g^2 + epsilon1)
//   C <- b * C + (1 - b) * mean over rows of (g^2 + epsilon1)
//   u  = g / sqrt(R C / mean(R))
//   u  = u / max(1, RMS(u) / clip)
//   p <- p - lr * max(epsilon2, RMS(p)) * u - lr * weight_decay * p
//
// A tensor of higher rank has the matrices of its last two axes factored, each
// for itself; a vector keeps its second moments whole.
#include "weft/ops/arithmetic.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/unary.h"
#include "weft/optim/parameter_rule.h"

namespace weft {
namespace {

Value root_mean_square(const Value& x) { return sqrt(mean(square(x))); }

// An axis of one element, at `axis` of the result.
Value with_axis(const Value& x, int axis) {
  const auto dims = x.shape().dims();
  std::vector<Dim> more(dims.begin(), dims.end());
  more.insert(more.begin() + axis, 1);
  return reshape(x, Shape(more));
}

TensorType without_axis(TensorType type, int axis) {
  const auto dims = type.shape.dims();
  std::vector<Dim> kept(dims.begin(), dims.end());
  kept.erase(kept.begin() + axis);
  type.shape = Shape(kept);
  return type;
}

class Adafactor : public ParameterRule {
 public:
  explicit Adafactor(const Options& options)
      : decay_(option<double>(options, "decay")),
        epsilon1_(option<double>(options, "epsilon1")),
        epsilon2_(option<double>(options, "epsilon2")),
        clip_(option<double>(options, "clip")),
        weight_decay_(option<double>(options, "weight_decay")),
        scales_by_parameter_(option<bool>(options, "scale_by_parameter")) {}

  std::vector<Slot> slots(const ParameterInfo& parameter) const override {
    const int rank = parameter.type.shape.rank();
    if (rank < 2) return {{"square", parameter.type}};
    return {{"row", without_axis(parameter.type, rank - 1)},
            {"column", without_axis(parameter.type, rank - 2)}};
  }

  std::vector<Value> scalars(const StepTime& time) const override {
    // In f64, as t^-decay has few digits left in f32 when t is large.
    const Value kept =
        1.0 - power(time.number, scalar_like(time.number, -decay_));
    return {time.lr, cast(kept, time.lr.dtype())};
  }

  Next next(const Value& parameter, const Value& gradient,
            std::span<const Value> slots,
            std::span<const Value> scalars) const override {
    Moments moments = next_moments(gradient, slots, scalars[1]);
    Value u = moments.direction /
              maximum(scalar_like(scalars[0], 1),
                      root_mean_square(moments.direction) / clip_);
    Value rate = scalars[0];
    if (scales_by_parameter_) {
      rate = rate *
             maximum(scalar_like(rate, epsilon2_), root_mean_square(parameter));
    }
    Value after = parameter - rate * u;
    if (weight_decay_ != 0) {
      after = after - scalars[0] * weight_decay_ * parameter;
    }
    return {after, std::move(moments.slots)};
  }

 private:
  struct Moments {
    Value direction;  // the gradient over the root of its second moments
    std::vector<Value> slots;
  };

  Moments next_moments(const Value& gradient, std::span<const Value> slots,
                       const Value& kept) const {
    const Value squares = square(gradient) + epsilon1_;
    const auto averaged = [&](const Value& slot, const Value& now) {
      return slot * kept + now * (1.0 - kept);
    };
    const int rank = gradient.shape().rank();
    if (rank < 2) {
      const Value v = averaged(slots[0], squares);
      return {gradient / sqrt(v), {v}};
    }
    const Value rows = averaged(slots[0], mean(squares, {rank - 1}));
    const Value columns = averaged(slots[1], mean(squares, {rank - 2}));
    // R C / mean(R) as two factors of the gradient, so that no matrix of second
    // moments is made.
    const Value row_factor =
        rsqrt(rows / mean(rows, {rank - 2}, /*keep_dims=*/true));
    return {gradient * with_axis(row_factor, rank - 1) *
                with_axis(rsqrt(columns), rank - 2),
            {rows, columns}};
  }

  double decay_;
  double epsilon1_;
  double epsilon2_;
  double clip_;
  double weight_decay_;
  bool scales_by_parameter_;
};

}  // namespace

void register_optimizer_adafactor(OptimizerRegistry& optimizers) {
  optimizers.add(
      {.name = "adafactor",
       .summary = "second moments by rows and columns, in little memory",
       .options = {{"decay", 0.8, "second moments forget as 1 - t^-decay",
                    kBelowOne},
                   {"epsilon1", 1e-30, "added to squared gradients", kBelowOne},
                   {"epsilon2", 1e-3, "least size of a parameter in its rate",
                    kBelowOne},
                   {"clip",
                    1.0,
                    "greatest root mean square of a direction",
                    {.least = 1e-6, .most = 1e6, .is_open_above = true}},
                   {"weight_decay", 0.0, "pull towards zero, times the rate",
                    kBelowOne},
                   {"scale_by_parameter", true,
                    "the rate is relative to a parameter's size"}},
       .default_lr = 0.01,
       .make = [](const Options& options) -> std::unique_ptr<Optimizer> {
         return std::make_unique<Adafactor>(options);
       }});
}

}  // namespace weft
