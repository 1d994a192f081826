#include "weft/train/sync/adaptive_period.h"

#include <algorithm>
#include <cmath>

namespace weft {

std::optional<std::int64_t> next_period(const PeriodRule& rule,
                                        const LossPoint& first,
                                        const LossPoint& now,
                                        std::int64_t last) {
  double left = (now.loss - rule.least_loss) / (first.loss - rule.least_loss);
  if (rule.follows_rate) left *= first.lr / now.lr;
  const bool is_told = first.loss > rule.least_loss &&
                       now.loss > rule.least_loss && std::isfinite(left) &&
                       left > 0;
  if (!is_told) return std::nullopt;
  // A period that is longer than the first is none; this keeps a large ratio
  // from being no integer.
  const double wanted =
      std::min(std::sqrt(left), 1.0) * static_cast<double>(rule.first);
  const auto basic = static_cast<std::int64_t>(std::ceil(wanted));
  if (!rule.is_refined || basic < last) return std::max<std::int64_t>(basic, 1);
  const double shorter = rule.shrink * static_cast<double>(last);
  return std::max<std::int64_t>(static_cast<std::int64_t>(std::ceil(shorter)),
                                1);
}

}  // namespace weft
