// Workers chosen by how close they are to others, for Krum and what is built on
// it (Blanchard, El Mhamdi, Guerraoui and Stainer, "Machine Learning with
// Adversaries: Byzantine Tolerant Gradient Descent", NeurIPS 2017). Of n
// workers, f of which may be wrong,
//
//   score(i) = sum of the n - f - 2 smallest |g_i - g_j|², j != i
//
// and the smallest scores win; equal ones by the lower place.
//
// Threads: pure functions; the rest as rules.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/train/sync/aggregation_rule.h"
#include "weft/train/sync/wrong_workers.h"

namespace weft {

// The score of each worker by distances[pair_index(a, b)]; n >= f + 3.
std::vector<double> krum_scores(std::span<const double> distances,
                                std::size_t workers, std::size_t wrong);

// The places of the `count` smallest scores, those of equal ones in their
// order; ascending by score.
std::vector<std::size_t> smallest_scores(std::span<const double> scores,
                                         std::size_t count);

// The rounds of Bulyan (El Mhamdi, Guerraoui and Rouault, "The Hidden
// Vulnerability of Distributed Learning in Byzantium", ICML 2018) over
// Multi-Krum, as AggregaThor has them: in each of n - 2 f - 2 rounds k, the
// n - f - 2 - k best workers, whose mean is selected; the best of them then
// leaves, and its distance leaves every score in which it counted. Each round's
// places are ascending. n >= 4 f + 3.
std::vector<std::vector<std::size_t>> bulyan_rounds(
    std::span<const double> distances, std::size_t workers, std::size_t wrong);

// What these rules have in common: they measure distances, and decide among the
// workers whose contributions to all buckets have come.
class DistanceRule : public AggregationRule {
 public:
  // It needs factor * wrong + 3 workers.
  DistanceRule(const RuleContext& context, std::int64_t wrong, int factor)
      : workers_(static_cast<std::size_t>(context.workers)),
        wrong_(static_cast<std::size_t>(wrong)),
        fewest_(static_cast<std::size_t>(factor) * wrong_ + 3) {}

  std::size_t measures() const final;
  void measure(const RulePart& part, std::span<double> numbers) final;
  bool decide(const RuleStep& step) final;

 protected:
  // Chooses among `ranks`, whose distances are at the pairs of their places.
  virtual void choose(std::span<const int> ranks,
                      std::span<const double> distances) = 0;
  std::size_t wrong() const { return wrong_; }

 private:
  std::size_t workers_;
  std::size_t wrong_;
  std::size_t fewest_;
};

// Contributions of those ranks. All of them must be there.
std::vector<Contribution> of_ranks(std::span<const Contribution> arrived,
                                   std::span<const int> ranks);

// Krum and Multi-Krum: the mean of the `selected` workers with the smallest
// scores; 0: as many as theory allows, n - f - 2.
std::unique_ptr<AggregationRule> make_multi_krum(const RuleContext& context,
                                                 std::int64_t wrong,
                                                 std::int64_t selected);

}  // namespace weft
