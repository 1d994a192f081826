// The exact probabilities of counts, for a clause of one variable.
#include "weft/gate/binomial.h"

#include "weft/gate/bound.h"

namespace weft {
namespace {

// Looking at each count takes too long beyond, and Hoeffding's number is then
// off by little.
constexpr double kMostHoeffdingPoints = 1 << 18;

std::optional<BoundAnswer> answer_binomial(const BoundQuestion& question) {
  const auto clause = as_one_variable(question.clause);
  if (!clause || clause->tolerance >= 1 ||
      -question.log_failure / (2 * clause->tolerance * clause->tolerance) >
          kMostHoeffdingPoints) {
    return std::nullopt;
  }
  return BoundAnswer{
      .bound = "binomial",
      .points = tries_for_deviation(clause->tolerance, question.log_failure),
      .why =
          "a count of one kind has a binomial distribution, whose worst "
          "case is known exactly"};
}

}  // namespace

void register_gate_bound_binomial(GateBoundRegistry& bounds) {
  bounds.add({.name = "binomial",
              .summary = "clauses of one variable, up to 262,144 points",
              .answer = answer_binomial});
}

}  // namespace weft
