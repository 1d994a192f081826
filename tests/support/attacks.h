// Workers that lie, for tests and bench: no recipe reaches them. They know all
// that right workers have computed, agree with each other, and may try the
// rule.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace weft::test {

using Gradient = std::vector<float>;

// What liars see in a step.
struct AttackScene {
  std::span<const Gradient> right;  // of the right workers
  // What each liar would have sent: one for each.
  std::span<const Gradient> own;
  std::span<const Gradient> first = {};  // and would have in the first step
  std::int64_t step = 0;
  std::uint64_t seed = 1;
  // What the rule would make of all, right ones first.
  std::function<Gradient(std::span<const Gradient>)> rule;
};

struct Attack {
  std::string name;
  std::string summary;
  // Liars compute their own gradients by labels that are all wrong.
  bool flips_labels = false;
  // What they send; an empty one sends nothing.
  std::vector<Gradient> (*lies)(const AttackScene& scene) = nullptr;
};

// All of them; the first, "none", sends what is right.
const std::vector<Attack>& attacks();
const Attack& attack_of(const std::string& name);

}  // namespace weft::test
