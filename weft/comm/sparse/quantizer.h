// What the dense phases of sparse sums send values through: a value codec, as
// an option of the algorithms that have such a phase, "dsar(qsgd(4))".
//
// Threads: pure functions.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "weft/base/option_schema.h"
#include "weft/base/refusal.h"
#include "weft/comm/codec/codec.h"

namespace weft {

// "quantizer", a call of a value codec; "none" leaves values as they are.
OptionSpec quantizer_option();

struct Quantizer {
  std::unique_ptr<ValueCodec> codec;  // null: none
  double value_bytes =
      0;  // what it makes of a value; 0: nothing, as there is none
};

// What `text` names, which declines no sum.
Quantizer make_quantizer(const std::string& text);

// Why what it rounds must not be summed; nothing if it may. Throws
// Error(kInvalidArgument) for a text that names no value codec.
std::optional<Refusal> quantizer_declines(const std::string& text);

}  // namespace weft
