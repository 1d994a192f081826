// The options that an entry of a registry declares: names, kinds, defaults.
// What a recipe gives is checked against them, so that a mistyped option is
// an error and never a silent default.
//
// Threads: value types and pure functions.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/options.h"

namespace weft {

// What a number may be; without bounds, any finite one.
struct NumberRange {
  double least = std::numeric_limits<double>::lowest();
  double most = std::numeric_limits<double>::max();
  bool is_open_below = false;  // `least` itself is excluded
  bool is_open_above = false;
  bool has_zero = false;  // 0 is allowed beside it, with a meaning of its own
};

struct EntryOptions;

// What the texts of an option are calls of: "crop(padding=4)"
// (base/call_reader.h).
struct CallKind {
  // A call with all of its options. Throws Error(kInvalidArgument) that quotes
  // the text. Null: whoever reads the option checks its calls.
  std::string (*canonical)(std::string_view text) = nullptr;
  std::vector<EntryOptions> (*entries)() = nullptr;  // that may be called
};

struct OptionSpec {
  std::string name;
  OptionValue value;  // the default; it also fixes the kind
  std::string summary;
  NumberRange range = {};                 // of a number, or of each in a list
  std::vector<std::string> choices = {};  // of a text; none: any
  // "steps", "bytes"; empty: none. Numbers of "seconds" may be written "20ms",
  // those of "bytes" "200MB", those that are a "share" "5%" (base/quantity.h).
  std::string unit = {};
  // What calls a text holds, or each text of a list; null: it is no call.
  const CallKind* calls = nullptr;
  // Words that may stand for an integer: "auto" for 0.
  std::vector<std::pair<std::string, std::int64_t>> words = {};
};

// An entry of a registry, and what may be said of it.
struct EntryOptions {
  std::string entry;    // "mlp"
  std::string summary;  // "dense layers with ReLU"
  std::vector<OptionSpec> options;
  std::string kind = {};  // of the registry: "layer"
};

// "at least 1", "in (0, 1]", "0 or in [0.1, 1]"; empty where any number will
// do.
std::string to_string(const NumberRange& range);
// Why the option cannot have this value, of its kind: "must be at least 1",
// "is not known (did you mean 'f32'?)"; nothing if it can.
std::optional<std::string> declines(const OptionSpec& spec,
                                    const OptionValue& value);
// The value, of the option's kind, with calls in it written out. Throws what
// CallKind::canonical does, with the place in a list: "at: layers.2, relu(3)".
OptionValue canonical(const OptionSpec& spec, OptionValue value);
// The default, with calls in it written out. An empty text calls nothing.
OptionValue default_of(const OptionSpec& spec);

std::string to_string(const OptionValue& value);
// "integer", "number", "true or false", "text", "list of integers", "list of
// texts".
std::string_view kind_of(const OptionValue& value);

// `given` with the defaults filled in, and calls written out. An integer is
// taken where a number is due. Throws Error(kInvalidArgument) naming `where`
// and the nearest known name for an unknown option, both kinds for a value of
// the wrong one, or what is wrong with a value.
Options complete(const std::vector<OptionSpec>& schema, const Options& given,
                 std::string_view where);

// An option that the schema guarantees.
template <class T>
const T& option(const Options& options, std::string_view name) {
  const auto found = options.find(std::string(name));
  WEFT_CHECK(found != options.end(), "no option '{}'", name);
  const T* value = std::get_if<T>(&found->second);
  WEFT_CHECK(value != nullptr, "option '{}' has another kind", name);
  return *value;
}

}  // namespace weft
