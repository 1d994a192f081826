// Whether texts are those that are listed, and are texts.
#include <algorithm>
#include <unordered_set>

#include "weft/validation/check.h"
#include "weft/validation/value_text.h"

namespace weft {
namespace {

using validation::Domain;
using validation::FeatureCheck;
using validation::FeatureRule;
using validation::FeatureSummary;
using validation::ValueCount;

void drop_list(FeatureRule& rule) {
  rule.values.reset();
  rule.values_of.clear();
}

void check_utf8(FeatureCheck& feature) {
  FeatureRule& rule = feature.rule;
  const bool is_text =
      feature.schema.values_of(rule) != nullptr || rule.domain == Domain::kText;
  if (!is_text || feature.seen.invalid_utf8 == 0) return;
  rule.domain = Domain::kAny;
  drop_list(rule);
  const auto count = feature.seen.invalid_utf8;
  feature.report(
      "invalid_utf8", "bytes that are no text",
      fmt::format(
          "{} of {} values ({}) are no UTF-8", count, feature.seen.values,
          validation::share_text(static_cast<double>(count) /
                                 static_cast<double>(feature.seen.values))));
}

// The values that are not listed, as far as they are known, and how many
// others there may be at most.
struct Strangers {
  std::vector<const ValueCount*> values;
  std::uint64_t most = 0;
};

Strangers find_strangers(const FeatureSummary& seen,
                         const std::vector<std::string>& listed) {
  const std::unordered_set<std::string_view> known(listed.begin(),
                                                   listed.end());
  Strangers found;
  std::uint64_t at_home = 0;
  for (const ValueCount& value : seen.counts) {
    const bool is_whole = value.bytes == value.text.size();
    if (is_whole && known.contains(value.text)) {
      at_home += value.count;
    } else {
      found.values.push_back(&value);
    }
  }
  // Where counts are bounds, what is not surely listed counts as not listed:
  // there are more different values than could be (statistics_options()).
  found.most = seen.values - at_home;
  return found;
}

// Whether the list can take them up.
bool can_be_added(const FeatureCheck& feature, const Strangers& strangers,
                  std::size_t listed) {
  if (!feature.seen.is_exact) return false;
  if (listed + strangers.values.size() > feature.input.most_values) {
    return false;
  }
  return std::ranges::all_of(strangers.values, [](const ValueCount* value) {
    return value->bytes == value->text.size() &&
           validation::is_utf8(value->text);
  });
}

void check_values(FeatureCheck& feature) {
  check_utf8(feature);
  FeatureRule& rule = feature.rule;
  auto* listed = feature.schema.values_of(rule);
  if (listed == nullptr) return;
  const Strangers strangers = find_strangers(feature.seen, *listed);
  const auto count = static_cast<double>(strangers.most);
  const double allowed =
      (1 - rule.min_domain_mass) * static_cast<double>(feature.seen.values);
  // Counts are whole; what is less than one apart is rounding.
  if (count <= allowed + 1e-6) return;
  std::vector<std::string> first;
  for (const ValueCount* value : strangers.values) {
    first.push_back(value->text);
  }
  if (can_be_added(feature, strangers, listed->size())) {
    listed->insert(listed->end(), first.begin(), first.end());
  } else {
    drop_list(rule);
  }
  feature.report(
      "unexpected_values", "values that are not listed",
      fmt::format("{} of {} values ({}): {}", strangers.most,
                  feature.seen.values,
                  validation::share_text(
                      count / static_cast<double>(feature.seen.values)),
                  validation::listed(first)));
}

}  // namespace

void register_check_values(validation::FeatureCheckRegistry& registry) {
  registry.add(
      {.name = "values",
       .order = 60,
       .kinds = {{"unexpected_values",
                  "more values than 1 - min_domain_mass are not listed"},
                 {"invalid_utf8", "texts are no UTF-8"}},
       .check = check_values});
}

}  // namespace weft
