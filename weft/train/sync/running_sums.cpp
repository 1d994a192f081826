#include "weft/train/sync/running_sums.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/train/sync/running_sums.cpp"
#include <cmath>
#include <hwy/foreach_target.h>

#include "weft/kernels/simd/doubles.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = simd::hn;
constexpr std::size_t kWide = simd::kLanesOf<double>;

// A vector of f64 from f32.
auto widened(const float* p) {
  const hn::Rebind<float, simd::Doubles> narrow;
  return hn::PromoteTo(simd::Doubles(), hn::LoadU(narrow, p));
}

double dot(const float* a, const double* b, std::size_t count) {
  simd::ChainedSum<double> sum;
  std::size_t i = 0;
  for (std::size_t chain = 0; i + kWide <= count;
       i += kWide, chain = (chain + 1) % simd::kChains) {
    sum.chains[chain] =
        hn::MulAdd(widened(a + i), simd::load(b + i), sum.chains[chain]);
  }
  double total = sum.total();
  for (; i < count; ++i) total += static_cast<double>(a[i]) * b[i];
  return total;
}

// Whether all are finite: their product with 0 is 0 then.
bool are_finite(const float* a, std::size_t count) {
  auto sum = simd::broadcast(0);
  std::size_t i = 0;
  for (; i + simd::kLanes <= count; i += simd::kLanes) {
    sum = hn::MulAdd(simd::load(a + i), simd::broadcast(0), sum);
  }
  float total = simd::sum_lanes(sum);
  for (; i < count; ++i) total += 0 * a[i];
  return total == 0;
}

void add(const float* a, double* sum, std::size_t count) {
  std::size_t i = 0;
  for (; i + kWide <= count; i += kWide) {
    simd::store(hn::Add(simd::load(sum + i), widened(a + i)), sum + i);
  }
  for (; i < count; ++i) sum[i] += static_cast<double>(a[i]);
}

double differences(const double* a, const double* b, std::size_t count) {
  simd::ChainedSum<double> sum;
  std::size_t i = 0;
  for (std::size_t chain = 0; i + kWide <= count;
       i += kWide, chain = (chain + 1) % simd::kChains) {
    const auto apart = hn::Sub(simd::load(a + i), simd::load(b + i));
    sum.chains[chain] = hn::MulAdd(apart, apart, sum.chains[chain]);
  }
  double total = sum.total();
  for (; i < count; ++i) total += (a[i] - b[i]) * (a[i] - b[i]);
  return total;
}

double add_piece(const float* gradient, const double* moved, double* sum,
                 std::size_t count) {
  if (!are_finite(gradient, count)) return NAN;
  add(gradient, sum, count);
  return dot(gradient, moved, count);
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "weft/base/error.h"

namespace weft {

double add_gradient(std::span<const float> gradient,
                    std::span<const double> moved, std::span<double> sum) {
  WEFT_CHECK(gradient.size() == moved.size() && moved.size() == sum.size());
  return WEFT_FOR_MACHINE(add_piece)(gradient.data(), moved.data(), sum.data(),
                                     gradient.size());
}

double squared_distance(std::span<const double> a, std::span<const double> b) {
  WEFT_CHECK(a.size() == b.size());
  return WEFT_FOR_MACHINE(differences)(a.data(), b.data(), a.size());
}

}  // namespace weft
#endif
