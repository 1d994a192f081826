// How long to wait before one stops waiting and pays: for a straggler before
// its work is done again, for a lock before one goes without, for a client that
// may never answer.
//
//   const SkiRental patience({.price = seconds_to_do_it_again});
//   if (!ready_within(patience.sample(random))) do_it_again();
//
// Waiting costs `rent` per unit of time, stopping costs `price`. Whenever the
// end comes, the expected cost is at most e/(e-1) = 1.58 times the least that
// it would cost if the end were known in advance, and no law does better; with
// a small known mean it is less. It is delay_law.h without the words of
// transactions.
//
// Threads: immutable.
#pragma once

#include <limits>

#include "weft/base/error.h"
#include "weft/concurrent/conflict/delay_law.h"

namespace weft::concurrent {

struct SkiRentalOptions {
  double price = 0;
  double rent = 1;
  // The mean of the time until the end; NaN where it is not known.
  double mean = std::numeric_limits<double>::quiet_NaN();
};

class SkiRental {
 public:
  // Throws Error(kInvalidArgument) for a price or mean below 0, or a rent that
  // is not above it.
  explicit SkiRental(const SkiRentalOptions& options)
      : law_(DelayLaw::best(stakes(options), options.mean)) {}

  double sample(FastRandom& random) const { return law_.sample(random); }
  const DelayLaw& law() const { return law_; }

 private:
  static Stakes stakes(const SkiRentalOptions& options) {
    if (!(options.rent > 0))
      throw Error(ErrorCode::kInvalidArgument, "SkiRental",
                  "waiting must cost something, not {}", options.rent);
    return {.protocol = Protocol::kRequestorAborts,
            .abort_cost = options.price / options.rent,
            .chain = 2};
  }

  DelayLaw law_;
};

}  // namespace weft::concurrent
