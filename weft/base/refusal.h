// Why two things cannot be used together, and what can: the one form in which
// parts decline what they are given.
//
//   std::optional<Refusal> declines(const Pipeline& codec);
//
//   if (const auto refusal = declines(codec)) {
//     throw refused("sync.collective", "'ring'", *refusal);
//   }
//
// prints
//
//   sync.collective: 'ring' declines 'topk(0.01)', because workers pick
//   different entries
//     hint: collective = "auto"
//
// A value that is wrong by itself is refused by what its option declares
// (base/option_schema.h). A kernel or a view that declines is no refusal: the
// next candidate is asked, and its text says why this one was not taken.
//
// Threads: value types and pure functions.
#pragma once

#include <string>
#include <string_view>

#include "weft/base/error.h"

namespace weft {

struct Refusal {
  std::string what;     // that is declined: "'topk(0.01)'", "6 ranks"
  std::string because;  // a clause: "workers pick different entries"
  std::string instead;  // what works: "collective = \"auto\""; empty: unknown
};

// "'text'".
std::string in_quotes(std::string_view text);

// "`who` declines …, because …", with what works as its hint. `where` is the
// key or the operation.
Error refused(std::string_view where, std::string_view who,
              const Refusal& refusal,
              ErrorCode code = ErrorCode::kInvalidArgument);

}  // namespace weft
