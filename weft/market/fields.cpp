#include "weft/market/fields.h"

#include <algorithm>
#include <charconv>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "weft/base/error.h"
#include "weft/base/utf8.h"

namespace weft::market {
namespace {

FieldValue nothing_of(const FieldSpec& spec) {
  switch (spec.kind) {
    case FieldKind::kNumber:
      return std::int64_t{0};
    case FieldKind::kText:
      return spec.choices.empty() ? std::string() : spec.choices.front();
    case FieldKind::kFlag:
      return false;
    case FieldKind::kKey:
      return PublicKey{};
    case FieldKind::kNumbers:
      return std::vector<std::int64_t>{};
    case FieldKind::kTexts:
      return std::vector<std::string>{};
    case FieldKind::kKeys:
      return std::vector<PublicKey>{};
  }
  WEFT_CHECK(false, "a kind of field that there is not");
}

// Texts become JSON, which has no others.
void require_utf8(const std::string& words, const std::string& name) {
  if (is_utf8(words)) return;
  throw Error(ErrorCode::kInvalidArgument, name, "is no UTF-8 text");
}

std::vector<std::string> parts_of(const std::string& words) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (!words.empty()) {
    const std::size_t comma = words.find(',', begin);
    parts.push_back(words.substr(begin, comma - begin));
    if (comma == std::string::npos) break;
    begin = comma + 1;
  }
  return parts;
}

std::int64_t field_number(const std::string& words, const std::string& name) {
  std::int64_t number = 0;
  const char* end = words.data() + words.size();
  const auto [stop, error] = std::from_chars(words.data(), end, number);
  if (error != std::errc() || stop != end || number < 0 ||
      number > kMostAmount) {
    throw Error(ErrorCode::kInvalidArgument, name,
                "'{}' is no whole number from 0 to {}", words, kMostAmount);
  }
  return number;
}

nlohmann::ordered_json field_json(const FieldValue& value) {
  return std::visit(
      [](const auto& typed) -> nlohmann::ordered_json {
        using T = std::decay_t<decltype(typed)>;
        if constexpr (std::is_same_v<T, PublicKey>) {
          return to_hex(typed);
        } else if constexpr (std::is_same_v<T, std::vector<PublicKey>>) {
          nlohmann::ordered_json list = nlohmann::ordered_json::array();
          for (const PublicKey& key : typed) list.push_back(to_hex(key));
          return list;
        } else {
          return typed;
        }
      },
      value);
}

}  // namespace

std::string_view to_string(FieldKind kind) {
  switch (kind) {
    case FieldKind::kNumber:
      return "number";
    case FieldKind::kText:
      return "text";
    case FieldKind::kFlag:
      return "true or false";
    case FieldKind::kKey:
      return "64 hexadecimal digits";
    case FieldKind::kNumbers:
      return "list of numbers";
    case FieldKind::kTexts:
      return "list of texts";
    case FieldKind::kKeys:
      return "list of 64 hexadecimal digits each";
  }
  WEFT_CHECK(false, "a kind of field that there is not");
}

void Fields::complete(const std::vector<FieldSpec>& specs,
                      std::string_view where) {
  for (const FieldSpec& spec : specs) {
    const auto found = values_.find(spec.name);
    if (found == values_.end()) {
      if (!spec.is_optional) {
        throw Error(ErrorCode::kInvalidArgument, where, "has no '{}'",
                    spec.name)
            .hint(spec.name + ": " + spec.summary);
      }
      values_[spec.name] = nothing_of(spec);
    } else if (!spec.choices.empty() &&
               std::ranges::find(spec.choices,
                                 std::get<std::string>(found->second)) ==
                   spec.choices.end()) {
      throw Error(ErrorCode::kInvalidArgument, where,
                  "'{}' is none of the choices of '{}': {}",
                  std::get<std::string>(found->second), spec.name,
                  fmt::join(spec.choices, ", "));
    }
  }
}

std::string Fields::to_json_members(const std::vector<FieldSpec>& specs) const {
  std::string text;
  for (const FieldSpec& spec : specs) {
    const FieldValue* value = find(spec.name);
    if (value == nullptr) continue;
    text += fmt::format(",{}:{}", nlohmann::json(spec.name).dump(),
                        field_json(*value).dump());
  }
  return text;
}

FieldValue field_from_words(const FieldSpec& spec, const std::string& words) {
  switch (spec.kind) {
    case FieldKind::kNumber:
      return field_number(words, spec.name);
    case FieldKind::kText:
      require_utf8(words, spec.name);
      return words;
    case FieldKind::kFlag:
      if (words != "true" && words != "false") {
        throw Error(ErrorCode::kInvalidArgument, spec.name,
                    "'{}' is neither true nor false", words);
      }
      return words == "true";
    case FieldKind::kKey:
      return key_from_text(words, spec.name);
    case FieldKind::kTexts:
      require_utf8(words, spec.name);
      return parts_of(words);
    case FieldKind::kNumbers: {
      std::vector<std::int64_t> numbers;
      for (const std::string& part : parts_of(words)) {
        numbers.push_back(field_number(part, spec.name));
      }
      return numbers;
    }
    case FieldKind::kKeys: {
      std::vector<PublicKey> keys;
      for (const std::string& part : parts_of(words)) {
        keys.push_back(key_from_text(part, spec.name));
      }
      return keys;
    }
  }
  WEFT_CHECK(false, "a kind of field that there is not");
}

}  // namespace weft::market
