// What `weft` and `weft-books` call the verbs that the one hands to the other.
#pragma once

#include "cli/verb.h"

namespace weft::cli {

inline constexpr const char* kBooksProgram = "weft-books";

inline VerbDef gate_verb(void (*add)(CLI::App& verb)) {
  return {.name = "gate",
          .summary = "Let only better models pass, provably",
          .order = 62,
          .add = add};
}

inline VerbDef market_verb(void (*add)(CLI::App& verb)) {
  return {.name = "market",
          .summary = "Trade data and computation, for shares and dividends",
          .order = 64,
          .add = add};
}

}  // namespace weft::cli
