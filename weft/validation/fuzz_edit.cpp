#include "weft/validation/fuzz_edit.h"

#include <algorithm>
#include <cmath>

#include "weft/validation/formed_examples.h"
#include "weft/validation/value_text.h"

namespace weft::validation {
namespace {

// Beyond these, numbers are "too large" for who squares or exponentiates them
// in single precision, or counts with 32 bits.
constexpr Bound kLargeInteger = 2147483647;
constexpr Bound kLargeNumber = 1e6;

bool is_string(const FeatureRule& rule) {
  return rule.type.value_or(ValueType::kString) == ValueType::kString;
}

std::string number_text(const FeatureRule& rule, Bound number) {
  if (rule.type == ValueType::kFloat) {
    return float_text(static_cast<double>(number));
  }
  return fmt::format("{}", static_cast<std::int64_t>(number));
}

ExampleItem plain_value(const Schema& schema, const FeatureRule& rule) {
  ExampleItem item{.is_string = is_string(rule)};
  const auto* values = schema.values_of(rule);
  if (values != nullptr && !values->empty()) {
    item.text = values->front();
  } else if (rule.domain == Domain::kBool) {
    item.text = item.is_string ? "true" : "1";
  } else if (form_of(rule.domain)) {
    item.text = formed_examples(rule).front();
  } else if (item.is_string && rule.domain != Domain::kInteger &&
             rule.domain != Domain::kNumber) {
    item.text = "a";
  } else {
    Bound one = 1;
    if (rule.min) one = std::max(one, std::ceil(*rule.min));
    if (rule.max && one > *rule.max) one = *rule.max;
    item.text = number_text(rule, one);
  }
  return item;
}

ExampleItem plain_list(const FeatureRule& rule, const ExampleItem& value,
                       std::size_t level) {
  const std::size_t depth =
      rule.shape ? rule.shape->size()
                 : std::max<std::size_t>(rule.value_count.size(), 1);
  if (level == depth) return value;
  std::int64_t length = 1;
  if (rule.shape) {
    length = (*rule.shape)[level];
  } else if (!rule.value_count.empty()) {
    const ListBounds& bounds = rule.value_count[level];
    length = std::max<std::int64_t>(bounds.min.value_or(0), 1);
    length = std::min(length, bounds.max.value_or(length));
  }
  ExampleItem list{.is_list = true};
  for (std::int64_t i = 0; i < length; ++i) {
    list.items.push_back(plain_list(rule, value, level + 1));
  }
  return list;
}

// `list` with `value` in place of each of its values.
ExampleItem filled(ExampleItem list, const ExampleItem& value) {
  if (!list.is_list) return value;
  for (ExampleItem& item : list.items) item = filled(std::move(item), value);
  return list;
}

void collect(const ExampleItem& item, std::vector<ExampleItem>& values) {
  if (!item.is_list) values.push_back(item);
  for (const ExampleItem& inner : item.items) collect(inner, values);
}

void exclude_number(const Schema& schema, FeatureRule& rule,
                    const ParsedValue& value,
                    const std::function<bool(const ExampleItem&)>& fails) {
  const auto fails_at = [&](Bound number) {
    ExampleItem other{.text = number_text(rule, number),
                      .is_string = is_string(rule)};
    return fails(filled(plain_item(schema, rule), other));
  };
  // A plain number, which does not fail, is left at least.
  const auto set_min = [&](Bound least) {
    rule.min = rule.max ? std::min(least, *rule.max) : least;
  };
  const auto set_max = [&](Bound most) {
    rule.max = rule.min ? std::max(most, *rule.min) : most;
  };
  if (std::isnan(value.number)) {
    rule.disallow_nan = true;
    return;
  }
  if (std::isinf(value.number)) {
    rule.disallow_inf = true;
    return;
  }
  const Bound large =
      rule.type == ValueType::kInt ? kLargeInteger : kLargeNumber;
  const Bound number = value.kind == ValueKind::kInt
                           ? static_cast<Bound>(value.integer)
                           : static_cast<Bound>(value.number);
  const bool may_be_negative = !rule.min || *rule.min < 0;
  if (number < 0 && may_be_negative) {
    // Is it that it is below zero, or that it is so far below?
    const bool is_sign = !rule.min || *rule.min <= -1 ? fails_at(-1) : true;
    if (is_sign) {
      set_min(0);
    } else if (number < -large) {
      set_min(-large);
    } else {
      set_min(fails_at(number / 2) ? -1 : number / 2);
    }
  } else if (number > large) {
    set_max(large);
  } else if (number >= 0 && number < 1) {
    set_min(1);
  } else if (number > 1) {
    set_max(fails_at(number / 2) ? 1 : number / 2);
  }
}

void exclude_value(const Schema& schema, FeatureRule& rule,
                   const ExampleItem& value,
                   const std::function<bool(const ExampleItem&)>& fails) {
  if (const auto* listed = schema.values_of(rule)) {
    std::vector<std::string> rest = *listed;
    if (std::erase(rest, value.text) == 0) {
      rule.min_domain_mass = 1;
    } else if (!rest.empty()) {
      rule.values = std::move(rest);
      rule.values_of.clear();
    }
    return;
  }
  const ParsedValue parsed = parse_value(value.text);
  const bool is_number = !is_string(rule) || rule.domain == Domain::kInteger ||
                         rule.domain == Domain::kNumber;
  if (is_number && parsed.kind != ValueKind::kText &&
      rule.domain == Domain::kAny) {
    exclude_number(schema, rule, parsed, fails);
  }
}

}  // namespace

ExampleItem plain_item(const Schema& schema, const FeatureRule& rule) {
  const ExampleItem value = plain_value(schema, rule);
  return is_scalar(rule) ? value : plain_list(rule, value, 0);
}

void exclude(const Schema& schema, FeatureRule& rule,
             const std::optional<ExampleItem>& item,
             const std::function<bool(const ExampleItem&)>& fails) {
  if (!item) {
    rule.min_fraction = 1;
    rule.min_count = std::max<std::int64_t>(rule.min_count.value_or(1), 1);
    return;
  }
  // With plain values in it, is it the list that fails?
  const ExampleItem plain = plain_value(schema, rule);
  if (!rule.shape && !rule.value_count.empty() && fails(filled(*item, plain))) {
    const auto length = static_cast<std::int64_t>(item->items.size());
    ListBounds& bounds = rule.value_count[0];
    if (length == 0) {
      bounds.min = 1;
    } else {
      bounds.max = 1;
    }
    return;
  }
  std::vector<ExampleItem> values;
  collect(*item, values);
  for (const ExampleItem& value : values) {
    if (value == plain) continue;
    return exclude_value(schema, rule, value, fails);
  }
}

}  // namespace weft::validation
