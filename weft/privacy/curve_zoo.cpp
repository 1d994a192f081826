#include "weft/privacy/curve_zoo.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/base/error.h"
#include "weft/privacy/mechanism.h"

namespace weft::privacy {
namespace {

// `count` numbers from `first` to `last`, in equal ratios.
std::vector<double> geometric(double first, double last, int count) {
  std::vector<double> all;
  for (int i = 0; i < count; ++i)
    all.push_back(first *
                  std::pow(last / first, static_cast<double>(i) / (count - 1)));
  return all;
}

// The orders over which a curve's range is measured.
bool counts_for_range(double order) {
  return order == 4 || order == 5 || order == 6 || order == 8;
}

}  // namespace

std::vector<RenyiCurve> curve_zoo(bool has_subsampled_laplace) {
  std::vector<RenyiCurve> zoo;
  const auto add = [&](const std::string& mechanisms) {
    zoo.push_back(renyi_curve(parse_mechanisms(mechanisms), budget_orders()));
  };
  for (const double noise : geometric(0.01, 10, 100)) {
    add(fmt::format("gaussian(noise={})", noise));
    add(fmt::format("laplace(noise={})", noise));
  }
  // The authors count a tree over n examples as ⌈ln n⌉ Gaussians.
  for (const double noise : geometric(0.01, 10, 10))
    for (const double size : geometric(1e3, 1e8, 10))
      add(fmt::format("gaussian(noise={}, steps={})", noise,
                      std::ceil(std::log(size))));
  const double noises[] = {.05, .1, .5, 1, 2, 3, 4, 5};
  for (const double a : noises) {
    for (const double b : noises) {
      add(fmt::format("laplace(noise={}) + gaussian(noise={})", a, b));
      add(fmt::format("laplace(noise={}) + laplace(noise={})", a, b));
    }
  }
  for (const int epochs : {1, 10, 100, 200}) {
    for (const double rate : {.001, .01, .05, .1, .2, .5}) {
      for (const double noise : {.1, .5, 1., 2.}) {
        const double steps = std::round(epochs / rate);
        add(fmt::format("subsampled_gaussian(noise={}, rate={}, steps={})",
                        noise, rate, steps));
        if (has_subsampled_laplace)
          add(fmt::format("subsampled_laplace(noise={}, rate={}, steps={})",
                          noise, rate, steps));
      }
    }
  }
  return zoo;
}

std::vector<NormalizedCurve> normalized_zoo(const RenyiCurve& capacity,
                                            bool has_subsampled_laplace) {
  std::vector<NormalizedCurve> kept;
  for (const RenyiCurve& curve : curve_zoo(has_subsampled_laplace)) {
    NormalizedCurve normalized{
        .shares = std::vector<double>(curve.size(),
                                      std::numeric_limits<double>::infinity())};
    for (std::size_t a = 0; a < curve.size(); ++a)
      if (capacity[a] > 0) normalized.shares[a] = curve[a] / capacity[a];
    const auto best =
        std::min_element(normalized.shares.begin(), normalized.shares.end());
    normalized.best =
        static_cast<std::size_t>(best - normalized.shares.begin());
    if (*best > 0.01 && *best < 1) kept.push_back(std::move(normalized));
  }
  return kept;
}

RenyiCurve bent_curve(const NormalizedCurve& curve, const RenyiCurve& capacity,
                      double least, double range) {
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  for (std::size_t a = 0; a < capacity.size(); ++a) {
    if (!counts_for_range(capacity.orders()[a]) || capacity[a] == 0) continue;
    low = std::min(low, curve.shares[a]);
    high = std::max(high, curve.shares[a]);
  }
  WEFT_CHECK(high > low, "a flat curve");
  const double smallest = curve.shares[curve.best];
  std::vector<double> demand;
  for (std::size_t a = 0; a < capacity.size(); ++a) {
    const double share =
        least + (curve.shares[a] - smallest) * range / (high - low);
    demand.push_back(capacity[a] > 0 ? share * capacity[a] : share);
  }
  return {capacity.orders(), std::move(demand)};
}

}  // namespace weft::privacy
