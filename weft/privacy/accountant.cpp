#include "weft/privacy/accountant.h"

#include <cmath>

#include "weft/privacy/privacy_loss.h"

namespace weft::privacy {
namespace {

constexpr double kMostAbove = 1e-3;

Mechanisms with_noise_times(Mechanisms mechanisms, double factor) {
  for (Mechanism& mechanism : mechanisms)
    std::get<double>(mechanism.options.at("noise")) *= factor;
  return mechanisms;
}

void check_noise(const Mechanism& mechanism) {
  const auto found = mechanism.options.find("noise");
  if (found == mechanism.options.end() || std::get<double>(found->second) == 0)
    throw Error(ErrorCode::kInvalidArgument, mechanism.def->name,
                "it has no noise that could be more")
        .hint("give it noise=1: what is found is a multiple of that");
}

void check_guarantee(const Guarantee& guarantee) {
  if (guarantee.epsilon > 0 && std::isfinite(guarantee.epsilon)) return;
  throw Error(ErrorCode::kInvalidArgument, "epsilon",
              "{} is not a finite number above 0", guarantee.epsilon);
}

}  // namespace

Accounting accounting_of(std::string_view name) {
  for (const auto accounting : {Accounting::kRenyi, Accounting::kLoss})
    if (to_string(accounting) == name) return accounting;
  throw Error(ErrorCode::kInvalidArgument, "accounting",
              "'{}' is none: rdp and pld are", name);
}

std::string_view to_string(Accounting accounting) {
  return accounting == Accounting::kRenyi ? "rdp" : "pld";
}

double epsilon_of(const Mechanisms& mechanisms, double delta,
                  Accounting accounting) {
  // The curve checks delta, and takes no time.
  const double by_curve =
      epsilon_of(renyi_curve(mechanisms, accounting_orders()), delta).value;
  return accounting == Accounting::kRenyi
             ? by_curve
             : privacy_losses(mechanisms).epsilon(delta);
}

Mechanisms dp_sgd(double noise, double rate, std::int64_t steps) {
  return parse_mechanisms(fmt::format(
      "subsampled_gaussian(noise={}, rate={}, steps={})", noise, rate, steps));
}

Mechanisms with_least_noise(Mechanisms mechanisms, const Guarantee& guarantee,
                            Accounting accounting) {
  for (const Mechanism& mechanism : mechanisms) check_noise(mechanism);
  check_guarantee(guarantee);
  const auto keeps = [&](double factor, Accounting by) {
    return epsilon_of(with_noise_times(mechanisms, factor), guarantee.delta,
                      by) <= guarantee.epsilon;
  };
  // Where so few take part that delta covers all of them, no noise is the
  // least, and a search for it would not end.
  if (keeps(0, accounting)) {
    throw Error(ErrorCode::kInvalidArgument, "noise",
                "epsilon {} at delta {} is kept without any", guarantee.epsilon,
                guarantee.delta)
        .hint("a delta well below one over the number of people needs noise");
  }
  // More noise tells less: the least factor lies between two powers of two.
  // Rényi curves find them, and privacy losses need less.
  double enough = 1;
  while (!keeps(enough, Accounting::kRenyi)) enough *= 2;
  double little = enough / 2;
  while (keeps(little, accounting)) {
    enough = little;
    little /= 2;
  }
  while (enough > little * (1 + kMostAbove)) {
    // Their product may be no double.
    const double middle = std::sqrt(little) * std::sqrt(enough);
    (keeps(middle, accounting) ? enough : little) = middle;
  }
  WEFT_CHECK(keeps(enough, accounting), "noise times {}", enough);
  return with_noise_times(std::move(mechanisms), enough);
}

}  // namespace weft::privacy
