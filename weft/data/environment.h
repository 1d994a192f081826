// Worlds that answer actions: what reinforcement learning learns from.
//
// A new environment is one file in weft/data/environments.
//
// Threads: one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/base/registry.h"

namespace weft {

class Environment {
 public:
  virtual ~Environment() = default;

  // Begins an episode, which is a function of `seed` and the actions.
  virtual void reset(std::uint64_t seed) = 0;
  // What is seen now: EnvironmentDef::observation numbers.
  virtual std::span<const float> observation() const = 0;

  struct Outcome {
    float reward = 0;
    bool is_over = false;
  };
  // `action` is in [0, EnvironmentDef::actions.size()). Not after the end.
  virtual Outcome act(std::int64_t action) = 0;
};

struct EnvironmentDef {
  std::string name;
  std::string summary;
  std::int64_t observation = 0;      // how many numbers are seen
  std::vector<std::string> actions;  // what may be done, by number
  std::int64_t most_steps = 0;       // after which an episode ends
  std::unique_ptr<Environment> (*make)() = nullptr;
};

using EnvironmentRegistry = Registry<EnvironmentDef>;
// It is filled from the files of weft/data/environments.
const EnvironmentRegistry& environment_registry();

}  // namespace weft
