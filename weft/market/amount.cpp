#include "weft/market/amount.h"

#include <algorithm>
#include <numeric>

#include "weft/base/error.h"

namespace weft::market {
namespace {

__extension__ using Wide = unsigned __int128;

Error too_much(const char* what) {
  return Error(ErrorCode::kInvalidArgument, what,
               "would be more than the {} that there may be", kMostAmount);
}

}  // namespace

Amount sum_of(Amount a, Amount b, const char* what) {
  WEFT_CHECK(a >= 0 && b >= 0 && a <= kMostAmount && b <= kMostAmount);
  if (a > kMostAmount - b) throw too_much(what);
  return a + b;
}

Amount scaled(Amount amount, Amount numerator, Amount denominator,
              const char* what) {
  WEFT_CHECK(amount >= 0 && numerator >= 0 && denominator > 0);
  const Wide result =
      Wide(amount) * Wide(numerator) / static_cast<Wide>(denominator);
  if (result > static_cast<Wide>(kMostAmount)) throw too_much(what);
  return static_cast<Amount>(result);
}

std::vector<Amount> split_by(Amount total, std::span<const Amount> weights) {
  Wide sum = 0;
  for (const Amount weight : weights) {
    WEFT_CHECK(weight >= 0 && weight <= kMostAmount);
    sum += static_cast<Wide>(weight);
  }
  WEFT_CHECK(total >= 0 && total <= kMostAmount && sum > 0);
  std::vector<Amount> parts(weights.size());
  std::vector<Wide> remainders(weights.size());
  Amount left = total;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Wide product = Wide(total) * Wide(weights[i]);
    parts[i] = static_cast<Amount>(product / sum);
    remainders[i] = product % sum;
    left -= parts[i];
  }
  // Fewer units are left than there are remainders above 0.
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) {
                     return remainders[a] > remainders[b];
                   });
  for (Amount i = 0; i < left; ++i) ++parts[order[static_cast<std::size_t>(i)]];
  return parts;
}

}  // namespace weft::market
