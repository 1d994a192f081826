#include <bit>
#include <random>
#include <vector>

#include "weft/base/error.h"
#include "weft/gate/bound.h"
#include "weft/gate/simulation.h"
#include "weft/gate/simulation_random.h"

namespace weft {
namespace {

// Bits of all points, 64 a word.
using PointBits = std::vector<std::uint64_t>;

// Votes for each point, as numbers whose bits lie in one word for each place.
class BitVotes {
 public:
  BitVotes(std::size_t words, std::int64_t voters)
      : planes_(static_cast<std::size_t>(
                    std::bit_width(static_cast<std::uint64_t>(voters))),
                PointBits(words)) {}

  void add(const PointBits& vote, bool turned) {
    for (std::size_t word = 0; word < vote.size(); ++word) {
      std::uint64_t carry = turned ? ~vote[word] : vote[word];
      for (PointBits& plane : planes_) {
        const std::uint64_t sum = plane[word] ^ carry;
        carry &= plane[word];
        plane[word] = sum;
      }
    }
  }
  std::int64_t votes(std::size_t point) const {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < planes_.size(); ++i) {
      count +=
          static_cast<std::int64_t>(planes_[i][point / 64] >> (point % 64) & 1)
          << i;
    }
    return count;
  }

 private:
  std::vector<PointBits> planes_;
};

// The attack on one test set. A share of the points is a fair coin to the
// developer; of the others he knows the answer.
class Attack {
 public:
  Attack(const GateClause& clause, std::int64_t points, HistoryRandom& random)
      : clause_(clause), points_(points), random_(random) {
    const double fair = clause.threshold.value() + clause.tolerance.value();
    coins_share_ = 2 * std::min(fair, 1 - fair);
    coins_ =
        std::binomial_distribution<std::int64_t>(points, coins_share_)(random);
    known_right_ = fair >= 0.5 ? points - coins_ : 0;
    words_ = static_cast<std::size_t>((coins_ + 63) / 64);
  }

  // Whether the last of so many models passes.
  bool last_passes(std::int64_t models) {
    BitVotes votes(words_, models);
    PointBits guess(words_);
    for (std::int64_t i = 1; i < models; ++i) {
      std::int64_t right = 0;
      for (std::size_t word = 0; word < words_; ++word) {
        guess[word] = random_();
        const auto behind = 64 * static_cast<std::int64_t>(word + 1) - coins_;
        right +=
            std::popcount(behind > 0 ? guess[word] >> behind : guess[word]);
      }
      votes.add(guess, !passes_with(right));
    }
    return passes_with(last_right(votes, models - 1));
  }

 private:
  bool passes_with(std::int64_t right) const {
    return truth_of(clause_, {points_, {known_right_ + right, 0, 0}}) ==
           Truth::kTrue;
  }
  // Coins that the majority has right, but for the share on which he is wrong
  // on purpose, so that the accuracy is the threshold.
  std::int64_t last_right(const BitVotes& votes, std::int64_t voters) {
    std::bernoulli_distribution gives_up(
        std::min(2 * clause_.tolerance.value() / coins_share_, 1.0));
    std::int64_t right = 0;
    for (std::int64_t point = 0; point < coins_; ++point) {
      const std::int64_t lead = 2 * votes.votes(slot_of(point)) - voters;
      const bool is_right = lead > 0 || (lead == 0 && (random_() & 1) != 0);
      right += is_right && !gives_up(random_);
    }
    return right;
  }
  // In the last word the points are the upper bits, as they were counted.
  std::size_t slot_of(std::int64_t point) const {
    const auto word = static_cast<std::size_t>(point / 64);
    const auto behind = 64 * static_cast<std::int64_t>(word + 1) - coins_;
    return static_cast<std::size_t>(behind > 0 ? point + behind : point);
  }

  const GateClause& clause_;
  std::int64_t points_;
  HistoryRandom& random_;
  double coins_share_ = 0;
  std::int64_t coins_ = 0;
  std::int64_t known_right_ = 0;
  std::size_t words_ = 0;
};

}  // namespace

SimulatedHistories simulate_attacker(const GateTerms& terms,
                                     std::int64_t points,
                                     std::int64_t histories,
                                     std::uint64_t seed) {
  const GateClause& clause = terms.condition.clauses[0];
  const auto bound = as_one_variable(clause);
  const bool is_floor = terms.condition.clauses.size() == 1 && bound &&
                        bound->is_greater &&
                        bound->variable == GateVariable::kNew &&
                        clause.coefficients[0] == Decimal{kBillionthsOfOne};
  const double fair = clause.threshold.value() + clause.tolerance.value();
  if (!is_floor || fair <= clause.tolerance.value() ||
      fair >= 1 - clause.tolerance.value()) {
    throw Error(ErrorCode::kInvalidArgument, "gate",
                "the attack is on conditions of the form n > c +/- e, with c "
                "in (0, 1 - 2 e), not on '{}'",
                to_string(terms.condition));
  }
  SimulatedHistories result{.histories = histories,
                            .verdicts = histories * terms.steps};
  for (std::int64_t history = 0; history < histories; ++history) {
    HistoryRandom random(seed, history);
    result.wrong += Attack(clause, points, random).last_passes(terms.steps);
  }
  result.passed = result.wrong;
  result.labels = static_cast<double>(points);
  return result;
}

}  // namespace weft
