#include "weft/train/sync/trimmed.h"

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

// A comparison by `<` alone is no order where NaN may be.
bool is_less(float a, float b) {
  return std::isnan(b) ? !std::isnan(a) : a < b;
}

}  // namespace

void trimmed_mean(std::span<const Contribution> arrived, std::size_t trim,
                  std::span<float> result) {
  WEFT_CHECK(2 * trim < arrived.size());
  const std::size_t left = arrived.size() - 2 * trim;
  std::vector<float> sorted(arrived.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    for (std::size_t c = 0; c < arrived.size(); ++c) {
      sorted[c] = arrived[c].values[i];
    }
    std::ranges::sort(sorted, is_less);
    double sum = 0;
    for (const float value : std::span(sorted).subspan(trim, left)) {
      sum += static_cast<double>(value);
    }
    result[i] = static_cast<float>(sum / static_cast<double>(left));
  }
}

}  // namespace weft
