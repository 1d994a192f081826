// The costs of a simulated machine as JSON: {"transfer": 85.0, …, "migrates":
// true}. What one command measures others simulate with, so that runs that are
// compared suppose the same machine.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "weft/concurrent/coherence/simulation.h"

namespace weft::bench {

// Those that calibrate() measures.
constexpr std::pair<const char*, double concurrent::CoherenceCosts::*>
    kCosts[] = {{"load", &concurrent::CoherenceCosts::load_ns},
                {"atomic", &concurrent::CoherenceCosts::atomic_ns},
                {"transfer", &concurrent::CoherenceCosts::transfer_ns},
                {"ahead", &concurrent::CoherenceCosts::ahead_ns},
                {"handover", &concurrent::CoherenceCosts::handover_ns},
                {"tenure", &concurrent::CoherenceCosts::tenure_ns},
                {"pause", &concurrent::CoherenceCosts::pause_ns},
                {"clock", &concurrent::CoherenceCosts::clock_ns},
                {"yield", &concurrent::CoherenceCosts::yield_ns}};

inline nlohmann::json json_of(const concurrent::CoherenceCosts& costs) {
  nlohmann::json result{{"migrates", costs.migrates}};
  for (const auto& [name, cost] : kCosts) result[name] = costs.*cost;
  return result;
}

// Throws nlohmann::json's exception where a cost is missing or no number.
inline concurrent::CoherenceCosts costs_of(const std::string& text) {
  const auto json = nlohmann::json::parse(text);
  concurrent::CoherenceCosts costs;
  for (const auto& [name, cost] : kCosts)
    costs.*cost = json.at(name).get<double>();
  costs.migrates = json.at("migrates").get<bool>();
  return costs;
}

}  // namespace weft::bench
