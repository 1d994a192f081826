#include "weft/validation/examples.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "weft/base/philox.h"
#include "weft/validation/check.h"
#include "weft/validation/formed_examples.h"
#include "weft/validation/toml_text.h"

namespace weft::validation {
namespace {

// Where a list has no bound, it is this much longer than it must be.
constexpr std::int64_t kOpenListLength = 3;
constexpr std::size_t kFloatEdges = 8;

// Numbers drawn one behind the other.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_{.seed = seed} {}

  std::uint32_t below(std::size_t count) {
    return random_.word(next_++) % static_cast<std::uint32_t>(count);
  }
  double uniform() { return uniform_from(random_.word(next_++)); }
  bool one_in(std::size_t count) { return below(count) == 0; }
  template <class Value>
  const Value& of(const std::vector<Value>& values) {
    return values[below(values.size())];
  }

 private:
  RandomStream random_;
  std::uint64_t next_ = 0;
};

class ValueMaker {
 public:
  ValueMaker(const Schema& schema, const FeatureRule& rule,
             ExampleFormat format, Draws& draws)
      : rule_(rule), format_(format), draws_(draws) {
    if (const auto* values = schema.values_of(rule)) values_ = *values;
    if (!rule.vocabulary.empty()) {
      words_ = schema.value_lists.at(rule.vocabulary);
    }
    if (form_of(rule.domain)) formed_ = formed_examples(rule);
  }

  ExampleItem next() {
    const ValueType type = rule_.type.value_or(ValueType::kString);
    if (!values_.empty()) {
      // A list of integers, as of months, is one of their texts.
      return {.text = draws_.of(values_), .is_string = is_string(type)};
    }
    if (!words_.empty()) return {.text = sentence(), .is_string = true};
    if (rule_.domain == Domain::kBool) {
      const bool is_number = type == ValueType::kInt;
      const bool is_true = draws_.one_in(2);
      return {.text = is_number ? (is_true ? "1" : "0")
                                : (is_true ? "true" : "false"),
              .is_string = is_string(type)};
    }
    if (!formed_.empty()) {
      return {.text = draws_.of(formed_), .is_string = is_string(type)};
    }
    if (rule_.domain == Domain::kInteger || type == ValueType::kInt) {
      return {.text = integer(), .is_string = is_string(type)};
    }
    if (rule_.domain == Domain::kNumber || type == ValueType::kFloat) {
      return {.text = number(), .is_string = is_string(type)};
    }
    return {.text = word(), .is_string = is_string(type)};
  }

 private:
  bool is_string(ValueType type) const { return type == ValueType::kString; }

  std::string integer() {
    constexpr Bound kLeast = std::numeric_limits<std::int64_t>::min();
    constexpr Bound kMost = std::numeric_limits<std::int64_t>::max();
    const Bound low = std::ceil(std::max(rule_.min.value_or(kLeast), kLeast));
    const Bound high = std::floor(std::min(rule_.max.value_or(kMost), kMost));
    std::vector<Bound> edges = {low, high};
    for (const Bound each : {-1.0L, 0.0L, 1.0L}) {
      if (each > low && each < high) edges.push_back(each);
    }
    Bound value = draws_.of(edges);
    if (draws_.one_in(2)) {
      value = std::floor(low + (high - low) * draws_.uniform());
    }
    return fmt::format("{}", static_cast<std::int64_t>(value));
  }

  std::string number() {
    constexpr double kMost = std::numeric_limits<double>::max();
    const Bound least = rule_.min.value_or(-kMost);
    const Bound most = rule_.max.value_or(kMost);
    auto low = static_cast<double>(least);
    auto high = static_cast<double>(most);
    // Bounds have more digits than doubles, which are rounded inwards.
    if (Bound{low} < least) low = std::nextafter(low, kMost);
    if (Bound{high} > most) high = std::nextafter(high, -kMost);
    // A tiny one that still has all of its digits.
    constexpr double kTiny = 1e-300;
    std::vector<double> edges = {std::max(low, -kMost), std::min(high, kMost)};
    for (const double each : {-1.0, -kTiny, 0.0, kTiny, 1.0}) {
      if (each > low && each < high) edges.push_back(each);
    }
    std::vector<std::string> none;
    if (!rule_.disallow_nan) none.emplace_back("NaN");
    if (!rule_.disallow_inf && !rule_.max) none.emplace_back("Infinity");
    if (!rule_.disallow_inf && !rule_.min) none.emplace_back("-Infinity");
    if (!none.empty() && draws_.one_in(kFloatEdges)) return draws_.of(none);
    double value = draws_.of(edges);
    if (draws_.one_in(2)) {
      // Around 1 rather than around the middle of all doubles.
      const double from = std::max(low, std::min(-100.0, high));
      const double to = std::min(high, std::max(100.0, low));
      value = from + (to - from) * draws_.uniform();
    }
    return float_text(value);
  }

  // Some words of the vocabulary, in the domain if there are such.
  std::string sentence() {
    constexpr int kTries = 50;
    std::string text;
    for (int i = 0; i < kTries; ++i) {
      text = draws_.of(words_);
      for (std::size_t left = 2 + draws_.below(4); left > 0; --left) {
        text += " " + draws_.of(words_);
      }
      const bool is_short =
          !rule_.max_bytes ||
          text.size() <= static_cast<std::size_t>(*rule_.max_bytes);
      const bool is_in_domain =
          rule_.domain != Domain::kLanguage || is_language(text);
      if (is_short && is_in_domain) break;
    }
    return text;
  }

  std::string word() {
    std::vector<std::string> words = {"a",
                                      "A word",
                                      "0",
                                      "-1",
                                      "1e9",
                                      "it's \"quoted\", with commas",
                                      "größe",
                                      "\xf0\x9f\xa7\xb5",
                                      std::string(1000, 'x')};
    // In a table these are read as something else.
    if (format_ == ExampleFormat::kJsonLines) {
      words.insert(words.end(), {"", " ", "null", "NaN", "\t\n\x01"});
    }
    std::erase_if(words, [&](const std::string& each) {
      return rule_.max_bytes &&
             each.size() > static_cast<std::size_t>(*rule_.max_bytes);
    });
    return words.empty() ? "" : draws_.of(words);
  }

  const FeatureRule& rule_;
  ExampleFormat format_;
  Draws& draws_;
  std::vector<std::string> values_;
  std::vector<std::string> words_;
  std::vector<std::string> formed_;
};

class ListMaker {
 public:
  ListMaker(const FeatureRule& rule, ValueMaker& values, Draws& draws)
      : rule_(rule), values_(values), draws_(draws) {}

  ExampleItem next() { return is_scalar(rule_) ? values_.next() : level(0); }

 private:
  std::size_t depth() const {
    return rule_.shape ? rule_.shape->size()
                       : std::max<std::size_t>(rule_.value_count.size(), 1);
  }

  std::int64_t length(std::size_t level) {
    if (rule_.shape) return (*rule_.shape)[level];
    if (rule_.value_count.empty()) return 1;
    const ListBounds& bounds = rule_.value_count[level];
    const std::int64_t low = bounds.min.value_or(0);
    const std::int64_t high = bounds.max.value_or(low + kOpenListLength);
    if (draws_.one_in(3)) return low;
    if (draws_.one_in(3)) return high;
    return low + draws_.below(static_cast<std::size_t>(high - low) + 1);
  }

  ExampleItem level(std::size_t level_) {
    if (level_ == depth()) return values_.next();
    ExampleItem list{.is_list = true};
    for (std::int64_t left = length(level_); left > 0; --left) {
      list.items.push_back(level(level_ + 1));
    }
    return list;
  }

  const FeatureRule& rule_;
  ValueMaker& values_;
  Draws& draws_;
};

// Which rows lack a feature: as many as may, and no more.
std::vector<bool> missing_rows(const FeatureRule& rule, std::size_t count,
                               Draws& draws) {
  const auto rows = static_cast<double>(count);
  const auto by_share = static_cast<std::size_t>(
      std::floor((1 - rule.min_fraction.value_or(0)) * rows + 1e-9));
  const auto due = static_cast<std::size_t>(rule.min_count.value_or(0));
  const std::size_t by_count = count > due ? count - due : 0;
  std::size_t left = std::min({by_share, by_count, count / 4});
  // Where every row may lack it, one of a single row may.
  if (left == 0 && std::min(by_share, by_count) > 0 && draws.one_in(4)) {
    left = 1;
  }
  std::vector<bool> missing(count);
  while (left > 0) {
    const std::size_t row = draws.below(count);
    if (missing[row]) continue;
    missing[row] = true;
    --left;
  }
  return missing;
}

ExampleItem* first_value(ExampleItem& item) {
  if (!item.is_list) return &item;
  for (ExampleItem& inner : item.items) {
    if (ExampleItem* found = first_value(inner)) return found;
  }
  return nullptr;
}

std::int64_t count_values(const ExampleItem& item) {
  if (!item.is_list) return 1;
  std::int64_t count = 0;
  for (const ExampleItem& inner : item.items) count += count_values(inner);
  return count;
}

// Values that are not listed, where some may be.
void add_strangers(const Schema& schema, const FeatureRule& rule,
                   std::size_t place, Examples& examples) {
  if (schema.values_of(rule) == nullptr || rule.min_domain_mass == 1) return;
  std::int64_t values = 0;
  for (const Example& row : examples.rows) {
    if (row[place]) values += count_values(*row[place]);
  }
  auto left = static_cast<std::int64_t>(
      std::floor((1 - rule.min_domain_mass) * static_cast<double>(values)));
  left = std::min(left, values / 4);
  for (Example& row : examples.rows) {
    if (left <= 0) return;
    if (!row[place]) continue;
    if (ExampleItem* item = first_value(*row[place])) {
      item->text = rule.type == ValueType::kInt ? "987654321" : "a stranger";
      --left;
    }
  }
}

// Makes the rows of a feature.
void add_feature(const Schema& schema, const FeatureRule& rule,
                 ExampleFormat format, Draws& draws, Examples& examples) {
  examples.names.push_back(rule.name);
  examples.types.push_back(rule.type.value_or(ValueType::kString));
  ValueMaker values(schema, rule, format, draws);
  ListMaker lists(rule, values, draws);
  const std::vector<bool> missing =
      missing_rows(rule, examples.rows.size(), draws);
  // A column may have few different values: they are drawn beforehand.
  std::vector<ExampleItem> pool;
  for (std::int64_t i = 0; i < rule.max_distinct.value_or(0); ++i) {
    if (pool.size() == examples.rows.size()) break;
    pool.push_back(lists.next());
  }
  for (std::size_t row = 0; row < examples.rows.size(); ++row) {
    auto& item = examples.rows[row].emplace_back();
    if (!missing[row]) item = pool.empty() ? lists.next() : draws.of(pool);
  }
  add_strangers(schema, rule, examples.names.size() - 1, examples);
}

void refuse_lists(const Examples& examples) {
  for (const Example& row : examples.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (!row[i] || (row[i]->items.size() <= 1 &&
                      (row[i]->items.empty() || !row[i]->items[0].is_list))) {
        continue;
      }
      throw Error(ErrorCode::kUnsupported, examples.names[i],
                  "a table has one value of a feature at most, and the schema "
                  "allows lists of more")
          .hint("--format jsonl gives an object a line");
    }
  }
}

}  // namespace

std::string float_text(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".eE") == text.npos) text += ".0";
  return text;
}

bool is_scalar(const FeatureRule& rule) {
  if (rule.shape) return *rule.shape == std::vector<std::int64_t>{1};
  if (rule.value_count.empty()) return true;
  return rule.value_count == std::vector<ListBounds>{{1, 1}};
}

Examples make_examples(const Schema& schema, std::size_t count,
                       std::uint64_t seed, const std::string& environment,
                       ExampleFormat format) {
  schema.check_environment(environment);
  Examples examples{.names = {}, .types = {}, .rows = {}};
  examples.rows.resize(count);
  Draws draws(seed);
  for (const FeatureRule& rule : schema.features) {
    if (!rule.is_live() || !schema.is_in(rule, environment)) continue;
    add_feature(schema, rule, format, draws, examples);
  }
  if (format == ExampleFormat::kCsv) refuse_lists(examples);
  Statistics statistics(statistics_options(schema));
  statistics.add(columns_of(examples, format));
  const StatisticsSummary summary = summarize(statistics);
  // Means are of many rows, and not what one may be.
  Schema of_rows = schema;
  for (FeatureRule& rule : of_rows.features) rule.forget_moments();
  const CheckReport report =
      check(of_rows, {.data = summary, .environment = environment});
  if (!report.has_errors()) return examples;
  Error error(ErrorCode::kInvalidArgument, "schema",
              "no {} examples at random are as it says", count);
  for (const Anomaly& anomaly : report.anomalies) {
    error.detail(fmt::format("{} ({}): {}", anomaly.feature, anomaly.kind,
                             anomaly.detail));
  }
  throw error;
}

}  // namespace weft::validation
