// How fast SGD must converge, and at which rate, by what is known of a problem
// and of the scheduler; and how slow an adversary can make it.
//
// F is c-strongly convex; stochastic gradients are L-Lipschitz in expectation,
// and their squares at most M^2; success is to come within ||x - x*||^2 <= eps.
//
//   sequential  rate c eps theta / M^2
//   Hogwild     M^2 + 2 L M tau sqrt(eps) in the place of M^2, tau the worst
//               expected delay (De Sa, Zhang, Olukotun, Re, "Taming the Wild",
//               NeurIPS 2015)
//   lock-free   M^2 + 4 sqrt(eps) L M sqrt(tau_max n) sqrt(d), for n threads
//   and
//               d entries (Alistarh, De Sa, Konstantinov, PODC 2018); sqrt(d)
//               is the price of views that are read entry by entry
//
// The probability of no success within T iterations is at most
//
//   factor / (c^2 eps theta T) log(e ||x_0 - x*||^2 / eps)
//
// with that factor in the place of M^2.
//
// Threads: pure functions.
// Errors:  Error(kInvalidArgument) for constants that cannot be.
#pragma once

namespace weft::concurrent {

struct SgdConstants {
  double convexity = 1;   // c
  double lipschitz = 1;   // L
  double gradient = 1;    // M, not squared
  double within = 0.01;   // eps
  double slack = 1;       // theta, in (0, 1]
  double distance_2 = 1;  // ||x_0 - x*||^2
};

struct SgdBound {
  double rate = 0;
  double factor = 0;  // in the place of M^2
  // Iterations after which the probability of no success is at most as asked.
  double iterations = 0;
};

// `failure` is that probability, in (0, 1].
SgdBound sequential_bound(const SgdConstants& constants, double failure);
SgdBound hogwild_bound(const SgdConstants& constants, double failure,
                       double expected_delay);
SgdBound lock_free_bound(const SgdConstants& constants, double failure,
                         double tau_max, int threads, double dimensions);

// Epochs of FullSGD from this first rate: log2(rate 2 M n / sqrt(eps)), rounded
// up, and at least one.
int full_sgd_epochs(const SgdConstants& constants, double rate, int threads);

// The lower bound, of F = x^2 / 2 without noise: an adversary freezes a
// gradient for `delay` iterations of another thread. From the threshold on,
// what the stale gradient undoes is more than what is left of the way.
double freeze_threshold(double rate);
// x after such a round, of 1 before it: (1 - rate)^delay - rate.
double freeze_factor(double rate, double delay);
// Iterations over those that a sequential run needs for the same way.
double freeze_slowdown(double rate, double delay);

}  // namespace weft::concurrent
