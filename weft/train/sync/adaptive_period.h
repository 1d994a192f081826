// AdaComm's rule: how many steps workers take between meetings, by how far the
// loss has come (Wang and Joshi, "Adaptive Communication Strategies to Achieve
// the Best Error-Runtime Trade-off in Local-Update SGD", MLSys 2019).
//
// A long period spares communication and lets copies drift apart; the error's
// bound over time is least for a period that goes with the square root of the
// loss that is left:
//
//   basic    ceil(tau_0 sqrt(eta_0 / eta * (F - F_inf) / (F_0 - F_inf)))
//   refined  that, where it is below the last period, else
//            ceil(shrink * the last one): late in a training the loss says
//            little, and the period must become 1 for copies to agree
//
// The rates' ratio is under the square root, as in the authors' experiments;
// the bound's power of 3/2 lengthens periods too fast where a rate drops.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <optional>

namespace weft {

struct PeriodRule {
  std::int64_t first = 20;  // tau_0, which no period exceeds
  bool is_refined = true;
  double shrink = 0.5;  // gamma_c, in (0, 1)
  bool follows_rate = true;
  double least_loss = 0;  // F_inf
};

// Where a training stands.
struct LossPoint {
  double loss = 0;
  double lr = 0;
};

// The period after one of `last` steps; nothing where losses say nothing:
// one that is no number, or not above F_inf, and rates of 0.
std::optional<std::int64_t> next_period(const PeriodRule& rule,
                                        const LossPoint& first,
                                        const LossPoint& now,
                                        std::int64_t last);

}  // namespace weft
