// Demands of many kinds, for simulations: the 620 curves of Tholoniat et al.
// (EuroSys 2025), of Gaussians, Laplaces, their sums, trees and subsampled
// ones, and the same bent to a form.
//
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <vector>

#include "weft/privacy/renyi_curve.h"

namespace weft::privacy {

// At budget_orders(). All 620, or without the 96 subsampled Laplaces.
std::vector<RenyiCurve> curve_zoo(bool has_subsampled_laplace);

// A curve over the capacity, at the orders that have some.
struct NormalizedCurve {
  std::vector<double> shares;  // infinite at the others
  std::size_t best = 0;        // the order's number, with the smallest share
};

// Those of the zoo whose smallest share is in (0.01, 1).
std::vector<NormalizedCurve> normalized_zoo(const RenyiCurve& capacity,
                                            bool has_subsampled_laplace);

// The curve moved and stretched so that its smallest share is `least`, and that
// shares at orders 4, 5, 6 and 8 span `range`. What must not be below 0 is at
// least `least` by that.
RenyiCurve bent_curve(const NormalizedCurve& curve, const RenyiCurve& capacity,
                      double least, double range);

}  // namespace weft::privacy
