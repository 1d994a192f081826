// Whether what the schema says of values makes sense for their type.
#include <algorithm>
#include <set>

#include "weft/validation/check.h"

namespace weft {
namespace {

using validation::Domain;
using validation::FeatureRule;
using validation::ValueType;

// Whether values of the type can be in the format of times.
bool can_be_times(const FeatureRule& rule, ValueType type) {
  if (type == ValueType::kFloat) return false;
  if (rule.format.empty()) return true;
  return std::ranges::any_of(
      validation::value_forms(), [&](const validation::ValueForm& form) {
        return form.kind == validation::FormKind::kTime &&
               form.format == rule.format &&
               form.is_of_integers == (type == ValueType::kInt);
      });
}

// What of the rule is for another type, or null.
const char* misplaced(const FeatureRule& rule) {
  const ValueType type = rule.type.value_or(ValueType::kString);
  const bool is_list = rule.values || !rule.values_of.empty();
  const bool is_number_text =
      rule.domain == Domain::kInteger || rule.domain == Domain::kNumber;
  if (!rule.type) return nullptr;
  if (is_list && type == ValueType::kFloat) return "a list of values";
  if (is_list && rule.domain != Domain::kAny) return "a list and a domain";
  if (rule.domain == Domain::kBool && type == ValueType::kFloat) {
    return "true or false";
  }
  if (rule.domain == Domain::kTime && !can_be_times(rule, type)) {
    return "a format of times";
  }
  if ((rule.domain == Domain::kImage || rule.domain == Domain::kLanguage) &&
      type != ValueType::kString) {
    return "a domain of texts";
  }
  if (!rule.vocabulary.empty() && type != ValueType::kString) {
    return "a vocabulary";
  }
  if ((rule.min_mean || rule.max_mean || rule.min_std || rule.max_std) &&
      type == ValueType::kString) {
    return "a mean or deviation of numbers";
  }
  if ((is_number_text || rule.domain == Domain::kText) &&
      type != ValueType::kString) {
    return "a domain of texts";
  }
  if ((rule.min || rule.max) && type == ValueType::kString) {
    return "a range of numbers";
  }
  if ((rule.disallow_nan || rule.disallow_inf) && type != ValueType::kFloat) {
    return "a rule for numbers that are none";
  }
  return nullptr;
}

void check_domain_type(validation::FeatureCheck& feature) {
  FeatureRule& rule = feature.rule;
  if (const char* what = misplaced(rule)) {
    const auto type = to_string(*rule.type);
    rule.domain = Domain::kAny;
    rule.format.clear();
    rule.image = {};
    rule.forget_moments();
    rule.values.reset();
    rule.values_of.clear();
    rule.vocabulary.clear();
    rule.min_coverage = 1;
    rule.min.reset();
    rule.max.reset();
    rule.disallow_nan = false;
    rule.disallow_inf = false;
    feature.report("domain_type", "the schema contradicts itself",
                   fmt::format("{} is nothing for the type {}", what, type));
  }
  auto* values = feature.schema.values_of(rule);
  if (values == nullptr) return;
  std::set<std::string> seen;
  std::vector<std::string> once;
  for (const std::string& value : *values) {
    if (seen.insert(value).second) once.push_back(value);
  }
  if (once.size() == values->size()) return;
  const std::size_t more = values->size() - once.size();
  *values = std::move(once);
  feature.report("repeated_values", "a list of values has some twice",
                 fmt::format("{} of them", more));
}

}  // namespace

void register_check_domain_type(validation::FeatureCheckRegistry& registry) {
  registry.add(
      {.name = "domain_type",
       .order = 50,
       .kinds = {{"domain_type", "a domain that is nothing for the type"},
                 {"repeated_values", "a list of values has some twice"}},
       .check = check_domain_type});
}

}  // namespace weft
