// Rényi divergences that several mechanisms are made of.
//
// Threads: pure functions.
#pragma once

namespace weft::privacy {

// N(1, noise^2) from N(0, noise^2): order / (2 noise^2).
double gaussian_renyi(double noise, double order);
// Laplace(1, noise) from Laplace(0, noise) (Mironov, 2017, proposition 6).
double laplace_renyi(double noise, double order);

}  // namespace weft::privacy
