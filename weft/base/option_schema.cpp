#include "weft/base/option_schema.h"

#include <algorithm>
#include <fmt/ranges.h>

#include "weft/base/quantity.h"

namespace weft {
namespace {

std::vector<std::string> names_of(const std::vector<OptionSpec>& schema) {
  std::vector<std::string> names;
  for (const OptionSpec& spec : schema) names.push_back(spec.name);
  return names;
}

// `value` as the kind of the option, if it is that kind, or an integer or a
// text such as "20ms" or "auto" that stands for a number.
bool convert(const OptionValue& value, const OptionSpec& spec,
             OptionValue& result) {
  const OptionValue& wanted = spec.value;
  if (value.index() == wanted.index()) {
    result = value;
    return true;
  }
  // A list of nothing is one of integers where calls are read.
  const auto* list = std::get_if<std::vector<std::int64_t>>(&value);
  if (std::holds_alternative<std::vector<std::string>>(wanted) &&
      list != nullptr && list->empty()) {
    result = std::vector<std::string>();
    return true;
  }
  const auto* text = std::get_if<std::string>(&value);
  if (std::holds_alternative<double>(wanted) && text != nullptr) {
    const auto quantity = parse_quantity(*text, units_of(spec.unit));
    if (quantity) result = *quantity;
    return quantity.has_value();
  }
  if (std::holds_alternative<std::int64_t>(wanted) && text != nullptr) {
    const auto word = std::ranges::find(
        spec.words, *text, &std::pair<std::string, std::int64_t>::first);
    if (word != spec.words.end()) result = word->second;
    return word != spec.words.end();
  }
  // People write 1 for 1.0. Nothing else is converted: a text that looks like a
  // number is a mistake.
  if (std::holds_alternative<double>(wanted) &&
      std::holds_alternative<std::int64_t>(value)) {
    result = static_cast<double>(std::get<std::int64_t>(value));
    return true;
  }
  return false;
}

}  // namespace

std::string to_string(const OptionValue& value) {
  struct Printer {
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(std::int64_t v) const {
      return fmt::format("{}", v);
    }
    std::string operator()(double v) const { return fmt::format("{}", v); }
    std::string operator()(const std::string& v) const {
      return fmt::format("\"{}\"", v);
    }
    std::string operator()(const std::vector<std::int64_t>& v) const {
      return fmt::format("[{}]", fmt::join(v, ", "));
    }
    std::string operator()(const std::vector<std::string>& v) const {
      return v.empty() ? "[]" : fmt::format("[\"{}\"]", fmt::join(v, "\", \""));
    }
  };
  return std::visit(Printer{}, value);
}

std::string_view kind_of(const OptionValue& value) {
  // The order is that of the variant.
  constexpr std::string_view kKinds[] = {"true or false",    "integer",
                                         "number",           "text",
                                         "list of integers", "list of texts"};
  return kKinds[value.index()];
}

std::string to_string(const NumberRange& range) {
  const NumberRange any;
  const bool has_most = range.most != any.most;
  if (range.least == any.least && !has_most) return "";
  const std::string zero = range.has_zero ? "0 or " : "";
  if (!has_most) {
    return fmt::format("{}{} {}", zero,
                       range.is_open_below ? "above" : "at least", range.least);
  }
  return fmt::format("{}in {}{}, {}{}", zero, range.is_open_below ? '(' : '[',
                     range.least, range.most, range.is_open_above ? ')' : ']');
}

namespace {

std::optional<std::string> number_declines(const NumberRange& range,
                                           double value) {
  const bool is_above =
      // Both comparisons are false for NaN, which is so refused.
      range.is_open_below ? value > range.least : value >= range.least;
  const bool is_below =
      range.is_open_above ? value < range.most : value <= range.most;
  if ((is_above && is_below) || (range.has_zero && value == 0)) {
    return std::nullopt;
  }
  // NaN and infinity are refused where every finite number would do.
  const std::string text = to_string(range);
  return text.empty() ? "must be a finite number" : "must be " + text;
}

std::optional<std::string> choice_declines(
    const std::vector<std::string>& choices, const std::string& text) {
  if (std::ranges::find(choices, text) != choices.end()) return std::nullopt;
  const std::string near = nearest(text, choices);
  return fmt::format(
      "is not known{} (known: {})",
      near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near),
      fmt::join(choices, ", "));
}

}  // namespace

std::optional<std::string> declines(const OptionSpec& spec,
                                    const OptionValue& value) {
  if (const auto* number = std::get_if<double>(&value)) {
    return number_declines(spec.range, *number);
  }
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    // Bounds of integers are far below 2^53, so that a larger value may be
    // rounded.
    return number_declines(spec.range, static_cast<double>(*number));
  }
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) {
    for (const std::int64_t each : *list) {
      const auto reason =
          number_declines(spec.range, static_cast<double>(each));
      if (reason) return fmt::format("holds {}, which {}", each, *reason);
    }
    return std::nullopt;
  }
  if (spec.choices.empty()) return std::nullopt;
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
    for (const std::string& each : *list) {
      const auto reason = choice_declines(spec.choices, each);
      if (reason) return fmt::format("holds {}, which {}", each, *reason);
    }
    return std::nullopt;
  }
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? std::nullopt : choice_declines(spec.choices, *text);
}

OptionValue canonical(const OptionSpec& spec, OptionValue value) {
  if (spec.calls == nullptr || spec.calls->canonical == nullptr) return value;
  if (auto* text = std::get_if<std::string>(&value)) {
    *text = spec.calls->canonical(*text);
  } else if (auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    for (std::size_t i = 0; i < texts->size(); ++i) {
      try {
        (*texts)[i] = spec.calls->canonical((*texts)[i]);
      } catch (Error& error) {
        // The place is told here, as the entry knows its own text alone.
        error.detail(fmt::format("at: {}.{}, {}", spec.name, i, (*texts)[i]));
        throw;
      }
    }
  }
  return value;
}

OptionValue default_of(const OptionSpec& spec) {
  const auto* text = std::get_if<std::string>(&spec.value);
  // An empty text says that there is no default, and calls nothing.
  const bool is_nothing = text != nullptr && text->empty();
  return is_nothing ? spec.value : canonical(spec, spec.value);
}

Options complete(const std::vector<OptionSpec>& schema, const Options& given,
                 std::string_view where) {
  Options result;
  // All options of the schema are there afterwards, so readers need no
  // defaults.
  for (const OptionSpec& spec : schema) result[spec.name] = default_of(spec);
  for (const auto& [name, value] : given) {
    const auto spec = std::find_if(
        schema.begin(), schema.end(),
        [&name = name](const OptionSpec& s) { return s.name == name; });
    if (spec == schema.end()) {
      const auto names = names_of(schema);
      const std::string near = nearest(name, names);
      Error error(
          ErrorCode::kInvalidArgument, where, "unknown option '{}'{}", name,
          near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near));
      throw std::move(
          error.detail(names.empty() ? "there are no options at this place"
                                     : fmt::format("options at this place: {}",
                                                   fmt::join(names, ", "))));
    }
    if (!convert(value, *spec, result[name])) {
      Error error(ErrorCode::kInvalidArgument, where,
                  "option '{}' is {}, but must be {}{}", name, to_string(value),
                  std::holds_alternative<bool>(spec->value)           ? ""
                  : std::holds_alternative<std::int64_t>(spec->value) ? "an "
                                                                      : "a ",
                  kind_of(spec->value));
      const std::string_view due = kind_of(spec->value);
      if (due == "list of integers") error.hint("a list is written [4, 8]");
      if (due == "list of texts") error.hint("a list is written [\"a\"]");
      throw error;
    }
    if (const auto reason = declines(*spec, result[name])) {
      throw Error(ErrorCode::kInvalidArgument, where, "option '{}' = {} {}",
                  name, to_string(value), *reason);
    }
    result[name] = canonical(*spec, std::move(result[name]));
  }
  return result;
}

}  // namespace weft
