// Knapsacks with one constraint, of which privacy scheduling asks for many.
//
// Threads: pure functions.
#pragma once

#include <span>

namespace weft::privacy {

struct KnapsackItem {
  double size = 0;   // from 0 on, may be infinite
  double value = 0;  // above 0, finite
};

struct Knapsack {
  double used = 0;  // by what is in it already
  double most = 0;

  // Rounds as whoever adds the sizes up does.
  bool has_room(double size) const { return used + size <= most; }
};

// The value of items that fit, taken by their sizes over their values, or of
// the best single one if that is more: at least half of the most that is
// possible (Kellerer, Pferschy, Pisinger, "Knapsack problems", 2004,
// section 2.4), and the most where all values are equal. Items come in
// ascending order of size over value.
double greedy_value(std::span<const KnapsackItem> items, Knapsack knapsack);

// A value of at least 1 - `loss` times the most that is possible, by rounding
// values down and searching the least size for each sum (section 2.6).
// O(n^3 / loss) for n items, and O(n^2 / loss) memory.
double nearly_optimal_value(std::span<const KnapsackItem> items,
                            const Knapsack& knapsack, double loss);

}  // namespace weft::privacy
