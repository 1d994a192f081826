// Whether values are of the type that the schema says.
#include "weft/validation/check.h"
#include "weft/validation/value_text.h"

namespace weft {
namespace {

using validation::FeatureSummary;
using validation::ValueKind;
using validation::ValueType;

// How many values are of another type. Integers are numbers; in a table, where
// texts are not told from numbers, any value is a text.
std::uint64_t strangers(const FeatureSummary& seen, ValueType type) {
  switch (type) {
    case ValueType::kInt:
      return seen.floats + seen.texts + seen.strings;
    case ValueType::kFloat:
      return seen.texts + seen.strings;
    case ValueType::kString:
      return seen.is_typed ? seen.integers + seen.floats : 0;
  }
  return 0;
}

bool is_stranger(const validation::ValueCount& value, ValueType type) {
  const ValueKind kind = value.is_string
                             ? ValueKind::kText
                             : validation::parse_value(value.text).kind;
  if (type == ValueType::kInt) return kind != ValueKind::kInt;
  return (type == ValueType::kFloat) == (kind == ValueKind::kText);
}

void check_type(validation::FeatureCheck& feature) {
  const FeatureSummary& seen = feature.seen;
  if (!feature.rule.type || seen.values == 0) return;
  const ValueType due = *feature.rule.type;
  const std::uint64_t count = strangers(seen, due);
  if (count == 0) return;
  std::vector<std::string> first;
  for (const auto& value : seen.counts) {
    if (is_stranger(value, due)) first.push_back(value.text);
  }
  // What it has been is of no use any more, and what it is now another feature.
  feature.rule.stage = validation::Stage::kDeprecated;
  feature.is_over = true;
  feature.report(
      "wrong_type", "values of another type",
      fmt::format("{} of {} values ({}) are no {}{}{}", count, seen.values,
                  validation::share_text(static_cast<double>(count) /
                                         static_cast<double>(seen.values)),
                  to_string(due), first.empty() ? "" : ": ",
                  validation::listed(first)));
}

}  // namespace

void register_check_type(validation::FeatureCheckRegistry& registry) {
  registry.add({.name = "type",
                .order = 40,
                .kinds = {{"wrong_type", "values are of another type"}},
                .check = check_type});
}

}  // namespace weft
