// How many different values there are.
#include <cmath>

#include "weft/validation/check.h"

namespace weft {
namespace {

// Three deviations of the sketch that counts many values (hyper_log_log.h):
// what is within them may be as it should.
constexpr double kSketchError = 0.05;

void check_distinct(validation::FeatureCheck& feature) {
  const double distinct = feature.seen.distinct;
  const double slack = feature.seen.is_exact ? 0 : kSketchError * distinct;
  const auto whole = static_cast<std::int64_t>(std::llround(distinct));
  const std::string seen =
      fmt::format("{}{}", feature.seen.is_exact ? "" : "about ", whole);
  auto& min = feature.rule.min_distinct;
  auto& max = feature.rule.max_distinct;
  if (min && distinct + slack < static_cast<double>(*min)) {
    const std::int64_t due = *min;
    min = whole;
    feature.report("few_distinct", "too few different values",
                   fmt::format("{}, and at least {} are due", seen, due));
  }
  if (max && distinct - slack > static_cast<double>(*max)) {
    const std::int64_t due = *max;
    max = whole;
    feature.report("many_distinct", "too many different values",
                   fmt::format("{}, and at most {} are due", seen, due));
  }
}

}  // namespace

void register_check_distinct(validation::FeatureCheckRegistry& registry) {
  registry.add(
      {.name = "distinct",
       .order = 80,
       .kinds = {{"few_distinct", "fewer different values than min_distinct"},
                 {"many_distinct", "more different values than max_distinct"}},
       .check = check_distinct});
}

}  // namespace weft
