// A market's state as JSON, for people and programs: what `weft market show`
// prints and the page is made of.
//
// Threads: pure.
#pragma once

#include <string>

#include "weft/market/state.h"

namespace weft::market {

// {"name", "market", "height", "time", "root", "money", "accounts":
// [{"account",
//  "balance", "nonce"}], "associations": [{"number", "name", "owner", "quorum",
//  "supply", "treasury", "holders": [{"account", "shares", "owed"}]}],
//  "databases", "shards", "proposals", "models", "jobs", "workers"}
std::string state_json(const State& state);

}  // namespace weft::market
