#include "weft/validation/schema_text.h"
#include "weft/validation/toml_text.h"

namespace weft::validation {
namespace {

class SectionKeys {
 public:
  explicit SectionKeys(SchemaSection& section) : section_(section) {}

  void add(std::string key, std::string value) {
    section_.keys.emplace_back(std::move(key), std::move(value));
  }
  void add(std::string key, const std::optional<std::int64_t>& value) {
    if (value) add(std::move(key), fmt::format("{}", *value));
  }
  void add(std::string key, const std::optional<double>& value) {
    if (value) add(std::move(key), toml_number(*value));
  }
  void add(std::string key, const std::vector<std::string>& texts) {
    if (!texts.empty()) add(std::move(key), toml_strings(texts));
  }
  void add_text(std::string key, std::string_view text) {
    add(std::move(key), toml_string(text));
  }

 private:
  SchemaSection& section_;
};

std::string bounds_text(const ListBounds& bounds) {
  std::string text;
  if (bounds.min) text += fmt::format("min = {}", *bounds.min);
  if (bounds.max) {
    text += fmt::format("{}max = {}", text.empty() ? "" : ", ", *bounds.max);
  }
  return text.empty() ? "{}" : "{ " + text + " }";
}

std::string thresholds_text(const std::vector<Threshold>& thresholds) {
  std::string text;
  for (const Threshold& each : thresholds) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", each.distance,
                        toml_number(each.most));
  }
  return "{ " + text + " }";
}

void add_counts(const FeatureRule& rule, SectionKeys& keys) {
  keys.add("min_fraction", rule.min_fraction);
  keys.add("min_count", rule.min_count);
  if (rule.shape) {
    std::vector<std::string> sizes;
    for (const auto size : *rule.shape)
      sizes.push_back(fmt::format("{}", size));
    keys.add("shape", toml_list(sizes));
  }
  if (!rule.value_count.empty()) {
    std::vector<std::string> levels;
    for (const ListBounds& each : rule.value_count) {
      levels.push_back(bounds_text(each));
    }
    keys.add("value_count", levels.size() == 1 ? levels[0] : toml_list(levels));
  }
}

void add_domain(const FeatureRule& rule, SectionKeys& keys) {
  if (rule.domain != Domain::kAny) {
    keys.add_text("domain", to_string(rule.domain));
  }
  if (!rule.format.empty()) keys.add_text("format", rule.format);
  for (std::size_t i = 0; i < kImageMeasures; ++i) {
    if (rule.image[i] == ListBounds()) continue;
    keys.add(std::string(to_string(static_cast<ImageMeasure>(i))),
             bounds_text(rule.image[i]));
  }
  if (rule.values) keys.add("values", toml_strings(*rule.values));
  if (!rule.values_of.empty()) keys.add_text("values_of", rule.values_of);
  if (rule.min) keys.add("min", toml_number(*rule.min));
  if (rule.max) keys.add("max", toml_number(*rule.max));
  if (rule.disallow_nan) keys.add("disallow_nan", "true");
  if (rule.disallow_inf) keys.add("disallow_inf", "true");
  keys.add("min_mean", rule.min_mean);
  keys.add("max_mean", rule.max_mean);
  keys.add("min_std", rule.min_std);
  keys.add("max_std", rule.max_std);
  keys.add("max_bytes", rule.max_bytes);
  if (rule.min_domain_mass != 1) {
    keys.add("min_domain_mass", toml_number(rule.min_domain_mass));
  }
  if (!rule.vocabulary.empty()) keys.add_text("vocabulary", rule.vocabulary);
  if (rule.min_coverage != 1) {
    keys.add("min_coverage", toml_number(rule.min_coverage));
  }
  keys.add("min_distinct", rule.min_distinct);
  keys.add("max_distinct", rule.max_distinct);
}

}  // namespace

SchemaSection section_of(const FeatureRule& rule) {
  SchemaSection section{{"feature", rule.name}, {}};
  SectionKeys keys(section);
  if (rule.type) keys.add_text("type", to_string(*rule.type));
  add_counts(rule, keys);
  add_domain(rule, keys);
  if (rule.stage) keys.add_text("stage", to_string(*rule.stage));
  keys.add("in_environments", rule.in_environments);
  keys.add("not_in_environments", rule.not_in_environments);
  if (!rule.drift.empty()) keys.add("drift", thresholds_text(rule.drift));
  if (!rule.skew.empty()) keys.add("skew", thresholds_text(rule.skew));
  if (rule.histogram != FeatureRule().histogram) {
    keys.add_text("histogram", rule.histogram);
  }
  if (!rule.unit.empty()) keys.add_text("unit", rule.unit);
  return section;
}

std::vector<SchemaSection> sections_of(const Schema& schema) {
  std::vector<SchemaSection> sections(3);
  SectionKeys(sections[0])
      .add("default_environments", schema.default_environments);
  sections[1].path = {"dataset"};
  SectionKeys dataset(sections[1]);
  dataset.add("min_rows", schema.dataset.min_rows);
  dataset.add("max_rows", schema.dataset.max_rows);
  dataset.add("min_rows_ratio", schema.dataset.min_rows_ratio);
  dataset.add("max_rows_ratio", schema.dataset.max_rows_ratio);
  sections[2].path = {"severity"};
  for (const auto& [kind, severity] : schema.severity) {
    SectionKeys(sections[2]).add_text(kind, to_string(severity));
  }
  // What says nothing needs no heading; a feature says at least that it is.
  std::erase_if(sections, [](const auto& each) { return each.keys.empty(); });
  for (const FeatureRule& rule : schema.features) {
    sections.push_back(section_of(rule));
  }
  for (const auto& [name, values] : schema.value_lists) {
    sections.push_back({{"values", name}, {{"list", toml_strings(values)}}});
  }
  return sections;
}

std::string heading_of(const SchemaSection& section) {
  std::string heading;
  for (const std::string& part : section.path) {
    heading += (heading.empty() ? "[" : ".") + toml_key(part);
  }
  return heading.empty() ? heading : heading + "]";
}

std::string to_toml(const Schema& schema) {
  std::string text;
  for (const SchemaSection& section : sections_of(schema)) {
    if (!text.empty()) text += '\n';
    if (!section.path.empty()) text += heading_of(section) + "\n";
    for (const auto& [key, value] : section.keys) {
      text += toml_key(key) + " = " + value + "\n";
    }
  }
  return text;
}

}  // namespace weft::validation
