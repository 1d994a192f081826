#include "weft/train/step/one_by_one.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "weft/train/step/example_sums.h"

namespace weft {
namespace {

// So many examples of a batch draw numbers of their own.
constexpr int kExampleBits = 32;

}  // namespace

OneByOne::OneByOne(std::vector<Tensor> gradients, double clip_norm)
    : gradients_(std::move(gradients)), clip_norm_(clip_norm) {
  for (const Tensor& gradient : gradients_) {
    sums_.emplace_back(static_cast<std::size_t>(gradient.size()));
  }
}

MeasureSums OneByOne::run(Step& step, const Batch& batch, std::int64_t number,
                          std::int64_t first) {
  for (std::vector<double>& sum : sums_) std::ranges::fill(sum, 0.0);
  MeasureSums measured(step.measures().ratios().size());
  for (std::int64_t row = 0; row < batch.size; ++row) {
    load(batch, row);
    step.run(example_, {.number = (number << kExampleBits) + first + row});
    measured.add(step.measures());
    if (!add_clipped()) throw broken_example(first + row);
  }
  for (std::size_t i = 0; i < gradients_.size(); ++i) {
    std::ranges::transform(sums_[i], gradients_[i].data<float>(),
                           [](double sum) { return static_cast<float>(sum); });
  }
  return measured;
}

bool OneByOne::add_clipped() {
  double squares = 0;
  for (const Tensor& gradient : gradients_) {
    for (const float each : gradient.span<float>()) {
      squares += static_cast<double>(each) * each;
    }
  }
  if (!std::isfinite(squares)) return false;
  const double scale = clip_norm_ / std::max(std::sqrt(squares), clip_norm_);
  for (std::size_t i = 0; i < gradients_.size(); ++i) {
    const auto gradient = gradients_[i].span<float>();
    for (std::size_t k = 0; k < gradient.size(); ++k) {
      sums_[i][k] += scale * gradient[k];
    }
  }
  return true;
}

void OneByOne::load(const Batch& batch, std::int64_t row) {
  example_.resize(batch.tensors.size());
  for (std::size_t i = 0; i < batch.tensors.size(); ++i) {
    const Tensor& all = batch.tensors[i];
    Shape shape = all.shape();
    shape[0] = 1;
    // The sizes of what varies differ from batch to batch.
    if (!example_[i].is_defined() || example_[i].shape() != shape) {
      example_[i] = Tensor::empty({all.dtype(), shape});
    }
    const std::size_t bytes = example_[i].bytes();
    std::memcpy(example_[i].raw(),
                static_cast<const std::byte*>(all.raw()) +
                    static_cast<std::size_t>(row) * bytes,
                bytes);
  }
}

}  // namespace weft
