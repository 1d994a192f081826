#include "weft/train/step/metrics.h"

#include <algorithm>

#include "weft/base/error.h"

namespace weft {

Scores::Scores(const std::vector<MetricDef>& metrics, const MeasureSums& sums) {
  for (const MetricDef& metric : metrics) {
    const bool is_mean = metric.of == nullptr || sums.ratios().empty();
    values_.emplace_back(metric.name,
                         is_mean ? sums.mean(metric.measure) : metric.of(sums));
  }
}

void Scores::set(std::string_view name, double value) {
  const auto found =
      std::ranges::find(values_, name, [](const auto& v) { return v.first; });
  if (found == values_.end()) {
    values_.emplace_back(name, value);
  } else {
    found->second = value;
  }
}

double Scores::get(std::string_view name) const {
  const auto found =
      std::ranges::find(values_, name, [](const auto& v) { return v.first; });
  return found == values_.end() ? kNotMeasured : found->second;
}

std::string metric_text(const MetricDef& metric, const Scores& scores) {
  return fmt::format("{} {:.{}f}", metric.name, scores.get(metric.name),
                     metric.digits);
}

}  // namespace weft
