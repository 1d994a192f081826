// How long to wait at random for another's end, not knowing when it comes.
//
// k >= 2 parties are in a conflict: an owner, and k - 1 that wait for it. The
// owner still needs a time D, and nobody knows it. One waits for a delay x. If
// the owner ends within it, that has cost (k - 1) D. If not, somebody gives up,
// which loses B: the owner, whose time x is lost as well (requestor wins), or
// the one that waits (requestor aborts):
//
//                      D <= x        D > x
//   requestor wins     (k - 1) D     k x + B
//   requestor aborts   (k - 1) D     (k - 1) x + B
//
// If D were known, the conflict would cost min((k - 1) D, B). For the worst D,
// a deterministic delay costs at least 2 + 1/(k - 1) times that where the
// requestor wins and 2 times that where it aborts; B / (k - 1) is the delay
// that achieves it. The random delay of worst_case() is expected to cost a
// smaller multiple, which is the same for every D, so no law is better against
// the worst. The law of known_mean() is best where the mean of D is known and
// small.
//
//   const DelayLaw law = DelayLaw::best({.protocol = Protocol::kRequestorWins,
//                                        .abort_cost = 2000, .chain = 2}, 500);
//   wait_for(law.sample(random));
//
// All times are in one unit, the caller's.
//
// Where: Alistarh, Haider, Kübler, Nadiradze, "The Transactional Conflict
// Problem", SPAA 2018. For requestor aborts this is ski rental: Karlin,
// Manasse, McGeoch, Owicki, "Competitive randomized algorithms for nonuniform
// problems", SODA 1990; with a mean, Khanafer, Kodialam, Puttaswamy, "The
// constrained ski-rental problem", INFOCOM 2013.
//
// Threads: immutable.
#pragma once

#include <cstdint>

#include "weft/concurrent/random.h"

namespace weft::concurrent {

enum class Protocol : std::uint8_t { kRequestorWins, kRequestorAborts };

struct Stakes {
  Protocol protocol = Protocol::kRequestorAborts;
  double abort_cost = 0;  // B
  int chain = 2;          // k

  // Throws Error(kInvalidArgument) for a cost that is NaN, infinite or below 0,
  // or a chain below 2.
  void check() const;
  // B / (k - 1): nobody should wait for longer.
  double longest_delay() const { return abort_cost / (chain - 1); }
};

// What a delay has cost when the owner needed `remaining`.
double conflict_cost(const Stakes& stakes, double remaining, double delay);
// The least that it could have cost, had `remaining` been known.
double least_cost(const Stakes& stakes, double remaining);

// The competitive ratio of the deterministic delay: the largest cost over the
// least one.
double deterministic_ratio(const Stakes& stakes);

class DelayLaw {
 public:
  // Both throw as Stakes::check().
  static DelayLaw worst_case(const Stakes& stakes);
  static DelayLaw known_mean(const Stakes& stakes);
  // The one of smaller ratio; NaN is a mean that is not known. Throws
  // Error(kInvalidArgument) for one below 0.
  static DelayLaw best(const Stakes& stakes, double mean_remaining);

  const Stakes& stakes() const { return stakes_; }
  bool uses_mean() const { return uses_mean_; }

  // On [0, longest_delay()], 0 outside.
  double density(double delay) const;
  double cumulative(double delay) const;
  // The delay below which a share of all lie, 0 <= share < 1.
  double quantile(double share) const;
  double sample(FastRandom& random) const { return quantile(random.unit()); }

  // Expected over least cost, against the worst that has such a mean; of
  // worst_case() it is the same for all.
  double ratio(double mean_remaining) const;

 private:
  DelayLaw(const Stakes& stakes, bool uses_mean)
      : stakes_(stakes), uses_mean_(uses_mean) {
    stakes.check();
  }

  double invert(double share) const;

  Stakes stakes_;
  bool uses_mean_;
};

}  // namespace weft::concurrent
