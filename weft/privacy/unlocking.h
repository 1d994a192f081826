// How much of a block's budget may be used so far: who comes early must not
// take what those who come later are due.
//
//   all                            everything at once
//   time(lifetime=30, steps=1000)  in steps, over a time
//   claims(count=100)              a share for each claim that asks of the
//   block
//
// A new rule is one file in weft/privacy/unlocking.
//
// Threads: pure functions; immutable registry.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/base/call_reader.h"

namespace weft::privacy {

// Where a block stands.
struct BlockAge {
  double time = 0;          // since it is there
  std::int64_t claims = 0;  // that have asked of it
};

struct UnlockingDef {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options = {};
  // The share of the capacity that is unlocked; it never falls with age.
  double (*share)(const Options& options, const BlockAge& age) = nullptr;
};

using UnlockingRegistry = Registry<UnlockingDef>;

struct Unlocking {
  Call<UnlockingDef> rule;

  double share(const BlockAge& age) const {
    return rule.def->share(rule.options, age);
  }
};

// Throws Error(kInvalidArgument) with a caret under the place.
Unlocking parse_unlocking(std::string_view text);

}  // namespace weft::privacy

namespace weft {

// It is filled from the files of weft/privacy/unlocking.
const privacy::UnlockingRegistry& unlocking_registry();

}  // namespace weft
