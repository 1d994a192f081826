// Weights of few levels, evenly spaced between the least and the greatest of
// each bucket of consecutive elements (Polino, Pascanu and Alistarh, "Model
// compression via distillation and quantization", ICLR 2018, sections 2.1 and
// 3.1): with s = 2^bits levels, each element becomes
//
//   low (1 - q) + high q,  q = round((w - low) / (high - low) * (s - 1))
//                              / (s - 1)
//
// and halves are rounded to even. In the paper it is low + q (high - low); this
// gives the ends of a bucket, and what was quantized before, to the bit. The
// gradient goes straight through. A bucket that has a NaN or an infinity has no
// levels: all of it becomes NaN.
#include "weft/nn/straight_through.h"
#include "weft/nn/view.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/join.h"
#include "weft/ops/reduce.h"
#include "weft/ops/rounding.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"

namespace weft {
namespace {

// [buckets, size]: the last one is filled up with its last element, which
// changes neither of its ends.
Value in_buckets(const Value& w, Dim bucket) {
  const Dim count = w.shape().num_elements();
  if (bucket == 0 || count <= bucket) return reshape(w, {1, count});
  Value flat = reshape(w, {count});
  if (const Dim over = count % bucket; over != 0) {
    const Value last = slice_axis(flat, 0, count - 1, count);
    flat = concat(std::vector{flat, broadcast_to(last, {bucket - over})}, 0);
  }
  return reshape(flat, {-1, bucket});
}

class Quantized : public ParameterView {
 public:
  explicit Quantized(const Options& options)
      : steps_(static_cast<double>(
            (std::int64_t{1} << option<std::int64_t>(options, "bits")) - 1)),
        bucket_(option<std::int64_t>(options, "bucket")) {}

  Value value(const TensorType&, const Value& parameter,
              std::span<const Value>) const override {
    return nn::straight_through(parameter,
                                [this](const Value& w) { return quantize(w); });
  }

 private:
  Value quantize(const Value& w) const {
    const Value rows = in_buckets(w, bucket_);
    const Value low = reduce_min(rows, {1}, /*keep_dims=*/true);
    const Value high = reduce_max(rows, {1}, /*keep_dims=*/true);
    const Value range = high - low;
    // A bucket of equal elements has one level.
    const Value divisor = where(equal(range, scalar_like(range, 0)),
                                scalar_like(range, 1), range);
    const Value q = round((rows - low) / divisor * steps_) / steps_;
    const Value levels = low * (1.0 - q) + high * q;
    const Dim count = w.shape().num_elements();
    const Value flat = reshape(levels, {-1});
    return reshape(slice_axis(flat, 0, 0, count), w.shape());
  }

  double steps_;  // between levels
  Dim bucket_;
};

}  // namespace

void register_parameter_view_quantized(ParameterViewRegistry& views) {
  views.add({.name = "quantized",
             .summary = "of few levels, evenly spaced in each bucket",
             .options = {{"bits",
                          std::int64_t{8},
                          "of an element: 2^bits levels",
                          {.least = 1, .most = 16}},
                         {"bucket",
                          std::int64_t{256},
                          "elements that share their levels; 0: all",
                          {.least = 0}}},
             .make = [](const Options& options) {
               return std::unique_ptr<ParameterView>(
                   std::make_unique<Quantized>(options));
             }});
}

}  // namespace weft
