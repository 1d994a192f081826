// The product of two thin matrices, which are trained in place of the weight.
// A weight of more axes than two is the matrix of its last axis by all others.
//
// Both begin as the halves of the first value's singular value decomposition,
// cut off at the rank, so that their product is the best approximation of what
// the weight would begin with (Khodak, Tenenholtz, Mackey and Fusi,
// "Initialization and regularization of factorized neural layers", ICLR 2021,
// section 3.1). It takes time in proportion to the weight times its shorter
// side, once. The product is computed in each step.
#include <algorithm>

#include "weft/nn/view.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/linalg.h"
#include "weft/ops/matmul.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

class LowRank : public ParameterView {
 public:
  explicit LowRank(std::int64_t rank) : rank_(rank) {}

  std::optional<std::string> declines(
      const TensorType& parameter) const override {
    if (parameter.shape.rank() < 2) {
      return "it is no matrix; choose a pattern that fits weights alone";
    }
    const Dim most = std::min(rows_of(parameter), columns_of(parameter));
    if (rank_ <= most) return std::nullopt;
    return fmt::format("take a rank of at most {}, as its matrix has", most);
  }

  std::vector<ViewPart> parts(const TensorType& parameter) const override {
    return {{"left",
             {parameter.dtype, {rows_of(parameter), rank_}},
             nn::Role::kTrainable},
            {"right",
             {parameter.dtype, {rank_, columns_of(parameter)}},
             nn::Role::kTrainable}};
  }
  bool replaces_parameter() const override { return true; }

  std::vector<Tensor> first_values(const Tensor& parameter, std::uint64_t,
                                   std::string_view) const override {
    const Dim rows = rows_of(parameter.type());
    const Dim columns = columns_of(parameter.type());
    const auto [u, s, vt] = svd(reshape(Value(parameter), {rows, columns}));
    const Value half = sqrt(slice_axis(s, 0, 0, rank_));
    const Value left = slice_axis(u, 1, 0, rank_) * half;
    const Value right = slice_axis(vt, 0, 0, rank_) * reshape(half, {rank_, 1});
    return {left.tensor(), right.tensor()};
  }

  Value value(const TensorType& type, const Value&,
              std::span<const Value> parts) const override {
    return reshape(matmul(parts[0], parts[1]), type.shape);
  }

 private:
  static Dim columns_of(const TensorType& parameter) {
    return parameter.shape.back();
  }
  static Dim rows_of(const TensorType& parameter) {
    return parameter.shape.num_elements() / columns_of(parameter);
  }

  std::int64_t rank_;
};

}  // namespace

void register_parameter_view_low_rank(ParameterViewRegistry& views) {
  views.add({.name = "low-rank",
             .summary = "a product of two thin matrices, which are trained",
             .options = {{"rank",
                          std::int64_t{8},
                          "columns of the first, rows of the second",
                          {.least = 1}}},
             .make = [](const Options& options) {
               return std::unique_ptr<ParameterView>(std::make_unique<LowRank>(
                   option<std::int64_t>(options, "rank")));
             }});
}

}  // namespace weft
