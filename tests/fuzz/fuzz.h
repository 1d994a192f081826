// What every fuzz target does: hand the bytes to a parser, which may refuse
// them with an Error and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weft/base/error.h"
#include "weft/base/file.h"

namespace weft::fuzz {

// Runs `parse`; an Error is an answer too, unless it says that Weft is wrong.
template <class Parse>
int refuse_or_accept(Parse&& parse) {
  try {
    parse();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInternal) throw;
  }
  return 0;
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace weft::fuzz
