// What a gate would do: histories of developers who submit models whose true
// accuracies are known, to see how often a verdict is wrong.
//
// Threads: pure functions. Cost: a binomial number or three for each verdict,
// whatever the size of the test set; an attacker costs a bit for each point.
#pragma once

#include <cstdint>

#include "weft/gate/plan.h"

namespace weft {

// What is true of each model that is submitted: its accuracy, that of the old
// one, and on how many points they differ. Where they differ one of them is
// right, which makes n - o vary most.
struct TrueShares {
  double now = 0;
  double old = 0;
  double different = 0;
};

struct SimulatedHistories {
  std::int64_t histories = 0;
  std::int64_t verdicts = 0;
  std::int64_t passed = 0;  // of the verdicts
  // Histories with a verdict that the mode says is never wrong, and was.
  std::int64_t wrong = 0;
  double labels = 0;  // that a verdict looks at, in the mean
};

// Models with nothing to do with each other, one for each step, up to the end
// of the test set's life. A sum that is the threshold itself counts as the
// worse case: the condition is not met where passing would be wrong, and met
// where failing would be. Throws Error(kInvalidArgument) for shares that no two
// models have.
SimulatedHistories simulate_developer(const GateTerms& terms,
                                      const GatePlan& plan,
                                      const TrueShares& truth,
                                      std::int64_t histories,
                                      std::uint64_t seed);

// A developer who uses each bit to learn the test set (as in Blum and Hardt,
// "The Ladder", ICML 2015, section 4): all models but the last are guesses
// whose accuracy is where the verdict is a fair coin; the last one is their
// majority, each turned round if it failed, and has an accuracy of the
// threshold: to let it pass is wrong. `points` is the size of the test set.
// Throws Error(kInvalidArgument) for a condition other than n > c +/- epsilon.
SimulatedHistories simulate_attacker(const GateTerms& terms,
                                     std::int64_t points,
                                     std::int64_t histories,
                                     std::uint64_t seed);

}  // namespace weft
