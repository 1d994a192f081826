// Whether values have the form that their domain names: times, images, and
// sentences of a language.
#include "weft/validation/check.h"

namespace weft {
namespace {

using validation::Domain;
using validation::FeatureCheck;
using validation::FeatureRule;
using validation::FeatureSummary;
using validation::FormKind;
using validation::ValueCount;

struct FormWords {
  std::string_view kind;  // of the anomaly
  std::string_view what;
};

FormWords words_of(FormKind form) {
  switch (form) {
    case FormKind::kTime:
      return {"not_a_time", "values that are no times in the format"};
    case FormKind::kImage:
      return {"not_an_image", "values that are no images"};
    case FormKind::kLanguage:
      return {"not_language", "values that are no sentences"};
  }
  return {};
}

std::uint64_t count_with(const FeatureSummary& seen, FormKind form,
                         const std::string& format) {
  return format.empty() ? seen.forms.of(form) : seen.forms.of(form, format);
}

// Another format where enough of the values are in that; else none.
void mend(FeatureRule& rule, const FeatureSummary& seen, FormKind form,
          double allowed) {
  const std::string format = seen.forms.most_frequent(form);
  const std::uint64_t others = seen.values - count_with(seen, form, format);
  if (!rule.format.empty() && !format.empty() &&
      static_cast<double>(others) <= allowed) {
    rule.format = format;
    return;
  }
  rule.domain = Domain::kAny;
  rule.format.clear();
  rule.image = {};
  rule.min_domain_mass = 1;
}

void check_forms(FeatureCheck& feature) {
  FeatureRule& rule = feature.rule;
  const FeatureSummary& seen = feature.seen;
  const auto form = validation::form_of(rule.domain);
  if (!form || seen.values == 0) return;
  const std::uint64_t others =
      seen.values - count_with(seen, *form, rule.format);
  const double allowed =
      (1 - rule.min_domain_mass) * static_cast<double>(seen.values) + 1e-6;
  if (static_cast<double>(others) <= allowed) return;
  std::vector<std::string> first;
  for (const ValueCount& value : seen.counts) {
    if (!has_form(*form, rule.format, value.text, value.is_string)) {
      first.push_back(value.text);
    }
  }
  const std::string due =
      rule.format.empty() ? "" : fmt::format(", and {} is due", rule.format);
  mend(rule, seen, *form, allowed);
  const FormWords words = words_of(*form);
  feature.report(
      words.kind, std::string(words.what),
      fmt::format("{} of {} values ({}){}: {}", others, seen.values,
                  validation::share_text(static_cast<double>(others) /
                                         static_cast<double>(seen.values)),
                  due, validation::listed(first)));
}

void check_length(FeatureCheck& feature) {
  auto& most = feature.rule.max_bytes;
  if (!most || feature.seen.values == 0) return;
  const auto longest = static_cast<std::int64_t>(feature.seen.most_bytes);
  if (longest <= *most) return;
  const std::int64_t due = *most;
  most = longest;
  feature.report("long_value", "a value that is too long",
                 fmt::format("{} bytes, and at most {} are due", longest, due));
}

void check_all(FeatureCheck& feature) {
  check_forms(feature);
  check_length(feature);
}

}  // namespace

void register_check_forms(validation::FeatureCheckRegistry& registry) {
  registry.add({.name = "forms",
                .order = 65,
                .kinds = {{"not_a_time",
                           "more values than 1 - min_domain_mass are no time "
                           "in the format"},
                          {"not_an_image", "the same of images"},
                          {"not_language", "the same of sentences"},
                          {"long_value", "a value has more than max_bytes"}},
                .check = check_all});
}

}  // namespace weft
