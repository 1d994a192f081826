// Laplace noise on a sum over a Poisson sample (Zhu and Wang, "Poisson
// subsampled Rényi differential privacy", ICML 2019, theorem 8, which holds for
// Laplace as for Gaussian noise).
#include <cmath>
#include <limits>

#include "weft/privacy/hockey_stick.h"
#include "weft/privacy/mechanism.h"
#include "weft/privacy/renyi_divergence.h"

namespace weft {
namespace {

double subsampled_laplace_renyi(const Options& options, double order) {
  const auto noise = option<double>(options, "noise");
  const auto rate = option<double>(options, "rate");
  if (rate == 0) return 0;
  if (noise == 0) return std::numeric_limits<double>::infinity();
  if (rate == 1) return privacy::laplace_renyi(noise, order);
  if (std::isinf(order)) return std::log1p(rate * std::expm1(1 / noise));
  return privacy::sampled_log_moment_line(
             rate, order,
             [&](double k) { return privacy::laplace_renyi(noise, k); }) /
         (order - 1);
}

}  // namespace

void register_mechanism_subsampled_laplace(
    privacy::MechanismRegistry& mechanisms) {
  mechanisms.add(
      {.name = "subsampled_laplace",
       .summary = "Laplace noise on the sum over a Poisson sample",
       .options = {privacy::noise_option(), privacy::rate_option()},
       .renyi = subsampled_laplace_renyi,
       .hockey_stick = [](const Options& options, privacy::Neighbour neighbour,
                          double epsilon) {
         return privacy::subsampled_hockey_stick(
             option<double>(options, "rate"), neighbour, epsilon,
             [&](double moved) {
               return privacy::laplace_hockey_stick(
                   option<double>(options, "noise"), moved);
             });
       }});
}

}  // namespace weft
