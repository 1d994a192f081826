// What mechanisms give away in all, by one of two ways to count it, and how
// much noise keeps it within a guarantee.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/privacy/mechanism.h"

namespace weft::privacy {

enum class Accounting : std::uint8_t {
  kRenyi,  // "rdp": renyi_curve.h at accounting_orders(); microseconds
  kLoss,   // "pld": privacy_loss.h; tighter, up to a second
};

// Throws Error(kInvalidArgument) for another name.
Accounting accounting_of(std::string_view name);
std::string_view to_string(Accounting accounting);

// The epsilon that holds with this delta; never below the truth. Throws
// Error(kInvalidArgument) for a delta that is not in (0, 1), and what
// privacy_losses() does.
double epsilon_of(const Mechanisms& mechanisms, double delta,
                  Accounting accounting);

// What steps of DP-SGD do to the data: noise, in clip norms, on the sum over a
// Poisson sample of this rate.
Mechanisms dp_sgd(double noise, double rate, std::int64_t steps);

// The mechanisms with the noise of all multiplied by the least factor that
// keeps the guarantee, or one at most a thousandth above it. Throws
// Error(kInvalidArgument) where a mechanism has no noise, its noise is 0, or
// the guarantee is kept without any.
Mechanisms with_least_noise(Mechanisms mechanisms, const Guarantee& guarantee,
                            Accounting accounting);

}  // namespace weft::privacy
