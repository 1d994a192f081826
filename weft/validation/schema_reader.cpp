#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include "weft/base/file.h"
#include "weft/validation/check.h"
#include "weft/validation/distance.h"
#include "weft/validation/schema_table.h"
#include "weft/validation/schema_text.h"

namespace weft::validation {
namespace {

// A list of values may be long; a schema of more is something else.
constexpr std::size_t kMostSchemaBytes = std::size_t{64} << 20;

// The tables within one, in the order in which they stand in the text:
// toml++ sorts them by name.
std::vector<std::pair<std::string, const toml::node*>> in_order(
    const toml::table& table) {
  std::vector<std::pair<const toml::key*, const toml::node*>> found;
  for (const auto& [key, node] : table) found.emplace_back(&key, &node);
  std::ranges::stable_sort(found, [](const auto& a, const auto& b) {
    return a.first->source().begin < b.first->source().begin;
  });
  std::vector<std::pair<std::string, const toml::node*>> all;
  for (const auto& [key, node] : found) all.emplace_back(key->str(), node);
  return all;
}

ListBounds read_bounds(const toml::node& node, const std::string& key,
                       SchemaTable& table, std::string_view where) {
  const toml::table* bounds = node.as_table();
  if (bounds == nullptr) {
    table.fail(&node, key, "{ min = …, max = … } is due");
  }
  SchemaTable reader(*bounds, key, where);
  const ListBounds read{reader.count("min"), reader.count("max")};
  reader.refuse_unknown();
  if (read.min && read.max && *read.min > *read.max) {
    table.fail(&node, key, "min is above max");
  }
  return read;
}

void read_counts(FeatureRule& rule, SchemaTable& table,
                 std::string_view where) {
  rule.min_fraction = table.number("min_fraction", 0, 1);
  rule.min_count = table.count("min_count");
  if (const toml::node* node = table.find("shape")) {
    const toml::array* array = node->as_array();
    if (array == nullptr) table.fail(node, "shape", "a list of sizes is due");
    rule.shape.emplace();
    for (const toml::node& item : *array) {
      rule.shape->push_back(table.count_of(item, "shape"));
    }
  }
  if (const toml::node* node = table.find("value_count")) {
    if (const toml::array* levels = node->as_array()) {
      for (const toml::node& level : *levels) {
        rule.value_count.push_back(
            read_bounds(level, "value_count", table, where));
      }
    } else {
      rule.value_count.push_back(
          read_bounds(*node, "value_count", table, where));
    }
    if (rule.shape) {
      table.fail(node, "value_count", "a shape says how many values there are");
    }
  }
}

void read_format(FeatureRule& rule, SchemaTable& table) {
  const auto format = table.text("format");
  if (!format) return;
  const std::optional<FormKind> form = form_of(rule.domain);
  if (!form || *form == FormKind::kLanguage) {
    table.fail(table.find("format"), "format",
               "it is of the domains \"time\" and \"image\"");
  }
  const std::vector<std::string> known = formats_of(*form);
  if (std::ranges::find(known, *format) == known.end()) {
    const std::string near = nearest(*format, known);
    table.fail(
        table.find("format"), "format",
        fmt::format(
            "'{}' is not known{}", *format,
            near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near)));
  }
  rule.format = *format;
}

void read_images(FeatureRule& rule, SchemaTable& table,
                 std::string_view where) {
  for (std::size_t i = 0; i < kImageMeasures; ++i) {
    const std::string key(to_string(static_cast<ImageMeasure>(i)));
    const toml::node* node = table.find(key);
    if (node == nullptr) continue;
    if (rule.domain != Domain::kImage) {
      table.fail(node, key, "it is of the domain \"image\"");
    }
    rule.image[i] = read_bounds(*node, key, table, where);
  }
}

// A least and a most that may be given.
void read_bounds_of(const std::string& what, SchemaTable& table,
                    std::optional<double>& least, std::optional<double>& most) {
  least = table.number("min_" + what, -HUGE_VAL, HUGE_VAL);
  most = table.number("max_" + what, -HUGE_VAL, HUGE_VAL);
  if (least && most && *least > *most) {
    table.fail(table.find("min_" + what), "min_" + what,
               fmt::format("min_{0} is above max_{0}", what));
  }
}

void read_vocabulary(FeatureRule& rule, SchemaTable& table,
                     const Schema& schema) {
  rule.vocabulary = table.text("vocabulary").value_or("");
  rule.min_coverage = table.number("min_coverage", 0, 1).value_or(1);
  if (rule.vocabulary.empty()) {
    const toml::node* given = table.find("min_coverage");
    if (given == nullptr) return;
    table.fail(given, "min_coverage", "it is of a vocabulary");
  }
  if (!schema.value_lists.contains(rule.vocabulary)) {
    table.fail(table.find("vocabulary"), "vocabulary",
               fmt::format("there is no [values.{}]", rule.vocabulary));
  }
}

void read_domain(FeatureRule& rule, SchemaTable& table, const Schema& schema,
                 std::string_view where) {
  rule.domain = table.choice<Domain>("domain", kDomains).value_or(Domain::kAny);
  read_format(rule, table);
  read_images(rule, table, where);
  rule.values = table.texts("values");
  rule.values_of = table.text("values_of").value_or("");
  rule.min = table.bound("min");
  rule.max = table.bound("max");
  rule.disallow_nan = table.flag("disallow_nan");
  rule.disallow_inf = table.flag("disallow_inf");
  read_bounds_of("mean", table, rule.min_mean, rule.max_mean);
  read_bounds_of("std", table, rule.min_std, rule.max_std);
  rule.max_bytes = table.count("max_bytes");
  rule.min_domain_mass = table.number("min_domain_mass", 0, 1).value_or(1);
  read_vocabulary(rule, table, schema);
  rule.min_distinct = table.count("min_distinct");
  rule.max_distinct = table.count("max_distinct");
  if (!rule.values_of.empty() && !schema.value_lists.contains(rule.values_of)) {
    table.fail(table.find("values_of"), "values_of",
               fmt::format("there is no [values.{}]", rule.values_of));
  }
  if (rule.values && !rule.values_of.empty()) {
    table.fail(table.find("values"), "values",
               "values_of names a list as well: one of them is due");
  }
  if (rule.min && rule.max && *rule.min > *rule.max) {
    table.fail(table.find("min"), "min", "min is above max");
  }
}

std::vector<Threshold> read_thresholds(const std::string& key,
                                       SchemaTable& table) {
  std::vector<Threshold> thresholds;
  const toml::table* given = table.table(key);
  if (given == nullptr) return thresholds;
  for (const auto& [name, node] : in_order(*given)) {
    if (distance_registry().find(name) == nullptr) {
      table.fail(node, key,
                 fmt::format("'{}' is no distance; there are {}", name,
                             fmt::join(names_of(distance_registry()), ", ")));
    }
    thresholds.push_back({name, table.number_of(*node, key, 0, HUGE_VAL)});
  }
  return thresholds;
}

FeatureRule read_feature(const std::string& name, const toml::node& node,
                         const Schema& schema, std::string_view where) {
  const toml::table* given = node.as_table();
  if (given == nullptr) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}:{}:{}", where, node.source().begin.line,
                            node.source().begin.column),
                "feature.{} is no table", name);
  }
  SchemaTable table(*given, "feature." + name, where);
  FeatureRule rule{.name = name};
  rule.type = table.choice<ValueType>("type", 3);
  read_counts(rule, table, where);
  read_domain(rule, table, schema, where);
  rule.stage = table.choice<Stage>("stage", 7);
  rule.in_environments =
      table.texts("in_environments").value_or(std::vector<std::string>());
  rule.not_in_environments =
      table.texts("not_in_environments").value_or(std::vector<std::string>());
  rule.drift = read_thresholds("drift", table);
  rule.skew = read_thresholds("skew", table);
  rule.histogram = table.text("histogram").value_or(rule.histogram);
  if (rule.histogram != "equal_width" && rule.histogram != "quantiles" &&
      rule.histogram != "values") {
    table.fail(given->get("histogram"), "histogram",
               "equal_width, quantiles or values is due");
  }
  rule.unit = table.text("unit").value_or("");
  table.refuse_unknown();
  return rule;
}

void read_severity(const toml::table& given, Schema& schema,
                   std::string_view where) {
  SchemaTable table(given, "severity", where);
  const std::vector<std::string> kinds = anomaly_kinds();
  for (const std::string& kind : kinds) {
    if (const auto severity = table.choice<Severity>(kind, 3)) {
      schema.severity[kind] = *severity;
    }
  }
  table.refuse_unknown();
}

void read_dataset(const toml::table& given, Schema& schema,
                  std::string_view where) {
  SchemaTable table(given, "dataset", where);
  schema.dataset = {
      .min_rows = table.count("min_rows"),
      .max_rows = table.count("max_rows"),
      .min_rows_ratio = table.number("min_rows_ratio", 0, HUGE_VAL),
      .max_rows_ratio = table.number("max_rows_ratio", 0, HUGE_VAL)};
  table.refuse_unknown();
}

}  // namespace

Schema parse_schema(std::string_view text, std::string_view where) {
  toml::table root;
  try {
    root = toml::parse(text, where);
  } catch (const toml::parse_error& error) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}:{}:{}", where, error.source().begin.line,
                            error.source().begin.column),
                std::string(error.description()));
  }
  SchemaTable table(root, "", where);
  Schema schema;
  schema.default_environments =
      table.texts("default_environments").value_or(std::vector<std::string>());
  if (const auto* dataset = table.table("dataset")) {
    read_dataset(*dataset, schema, where);
  }
  if (const auto* severity = table.table("severity")) {
    read_severity(*severity, schema, where);
  }
  if (const auto* lists = table.table("values")) {
    for (const auto& [name, node] : in_order(*lists)) {
      if (!node->is_table()) table.fail(node, name, "a table is due");
      SchemaTable list(*node->as_table(), "values." + name, where);
      auto values = list.texts("list");
      if (!values) list.fail(nullptr, "list", "it is missing");
      schema.value_lists[name] = std::move(*values);
      list.refuse_unknown();
    }
  }
  if (const auto* features = table.table("feature")) {
    for (const auto& [name, node] : in_order(*features)) {
      schema.features.push_back(read_feature(name, *node, schema, where));
    }
  }
  table.refuse_unknown();
  return schema;
}

Schema load_schema(const std::filesystem::path& path) {
  return parse_schema(read_text(path, kMostSchemaBytes), path.string());
}

}  // namespace weft::validation
