// What a transaction says, besides who sends it: fields that its kind declares,
// read from an object of JSON.
//
// Threads: value types and pure functions.
// Errors:  Error(kInvalidArgument) naming the field.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/base/error.h"
#include "weft/market/amount.h"
#include "weft/market/keys.h"

namespace weft::market {

enum class FieldKind {
  kNumber,   // from 0 to kMostAmount
  kText,     // at most kMostFieldBytes
  kFlag,     // true or false
  kKey,      // an account or a digest: 64 hexadecimal digits
  kNumbers,  // lists of them
  kTexts,
  kKeys,
};
std::string_view to_string(FieldKind kind);

inline constexpr std::size_t kMostFieldBytes = 1024;
inline constexpr std::size_t kMostListEntries = 1024;

using FieldValue =
    std::variant<std::int64_t, std::string, bool, PublicKey,
                 std::vector<std::int64_t>, std::vector<std::string>,
                 std::vector<PublicKey>>;

struct FieldSpec {
  std::string name;
  FieldKind kind = FieldKind::kNumber;
  std::string summary;
  bool is_optional = false;               // then 0, "", false or an empty list
  std::vector<std::string> choices = {};  // of a text; the first is the default
};

class Fields {
 public:
  void set(const std::string& name, FieldValue value) {
    values_[name] = std::move(value);
  }
  const FieldValue* find(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? nullptr : &found->second;
  }

  // Those that the specs guarantee, after complete().
  std::int64_t number(const char* name) const {
    return get<std::int64_t>(name);
  }
  const std::string& text(const char* name) const {
    return get<std::string>(name);
  }
  bool flag(const char* name) const { return get<bool>(name); }
  const PublicKey& key(const char* name) const { return get<PublicKey>(name); }
  const std::vector<std::int64_t>& numbers(const char* name) const {
    return get<std::vector<std::int64_t>>(name);
  }
  const std::vector<std::string>& texts(const char* name) const {
    return get<std::vector<std::string>>(name);
  }
  const std::vector<PublicKey>& keys(const char* name) const {
    return get<std::vector<PublicKey>>(name);
  }

  // Puts defaults in, and refuses what is missing and what is no choice.
  void complete(const std::vector<FieldSpec>& specs, std::string_view where);

  // In the order of the specs.
  std::string to_json_members(const std::vector<FieldSpec>& specs) const;

 private:
  template <class T>
  const T& get(const char* name) const {
    const FieldValue* value = find(name);
    WEFT_CHECK(value != nullptr, "no field '{}'", name);
    const T* typed = std::get_if<T>(value);
    WEFT_CHECK(typed != nullptr, "field '{}' is of another kind", name);
    return *typed;
  }

  std::map<std::string, FieldValue> values_;
};

// A field as somebody types it: lists with commas.
FieldValue field_from_words(const FieldSpec& spec, const std::string& words);

}  // namespace weft::market
