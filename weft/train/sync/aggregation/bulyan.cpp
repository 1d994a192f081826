// Bulyan over Multi-Krum: no entry of the result is farther from a right
// gradient's than those are from each other, where Krum leaves a liar a leeway
// that grows with the dimension (El Mhamdi, Guerraoui and Rouault, "The Hidden
// Vulnerability of Distributed Learning in Byzantium", ICML 2018).
//
// Krum selects n - 2 f - 2 times; of these gradients, each entry is the mean of
// the n - 4 f - 2 values that are closest to their median.
#include <algorithm>

#include "weft/base/index.h"
#include "weft/base/parallel.h"
#include "weft/train/sync/entrywise.h"
#include "weft/train/sync/krum.h"

namespace weft {
namespace {

// Entries whose selected gradients are held at a time.
constexpr std::int64_t kPiece = 2048;

class Bulyan : public DistanceRule {
 public:
  Bulyan(const RuleContext& context, std::int64_t wrong)
      : DistanceRule(context, wrong, 4) {}

  void combine(const RulePart& part, std::span<float> result) override {
    std::vector<std::vector<Contribution>> rounds;
    for (const auto& ranks : rounds_) {
      rounds.push_back(of_ranks(part.arrived, ranks));
    }
    const double count = static_cast<double>(part.arrived.size());
    parallel_for(std::ssize(result), kPiece,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (; begin < end; begin += kPiece) {
                     const std::int64_t size = std::min(kPiece, end - begin);
                     combine_piece(rounds, count, at(begin),
                                   result.subspan(at(begin), at(size)));
                   }
                 });
  }

  RuleFigures figures() const override {
    // Whoever is in no round has no part in the result.
    std::vector<int> ranks;
    for (const auto& round : rounds_) {
      ranks.insert(ranks.end(), round.begin(), round.end());
    }
    std::ranges::sort(ranks);
    const auto rest = std::ranges::unique(ranks);
    return {.selected = static_cast<double>(rest.begin() - ranks.begin())};
  }

 protected:
  void choose(std::span<const int> ranks,
              std::span<const double> distances) override {
    rounds_.clear();
    for (const auto& places : bulyan_rounds(distances, ranks.size(), wrong())) {
      std::vector<int> round;
      for (const std::size_t place : places) round.push_back(ranks[place]);
      rounds_.push_back(std::move(round));
    }
  }

 private:
  // Entries from `begin` on, times `count` workers.
  void combine_piece(const std::vector<std::vector<Contribution>>& rounds,
                     double count, std::size_t begin,
                     std::span<float> result) const {
    std::vector<float> means(rounds.size() * result.size());
    std::vector<Contribution> selected;
    for (std::size_t k = 0; k < rounds.size(); ++k) {
      std::vector<Contribution> piece = rounds[k];
      for (Contribution& each : piece) {
        each.values = each.values.subspan(begin, result.size());
      }
      const auto mean =
          std::span(means).subspan(k * result.size(), result.size());
      sum_of(piece, 1 / static_cast<double>(piece.size()), mean);
      selected.push_back({static_cast<int>(k), mean});
    }
    mean_of_closest(selected, median_of(rounds.size()),
                    rounds.size() - 2 * wrong(), count, result);
  }

  std::vector<std::vector<int>> rounds_;  // ranks, ascending
};

}  // namespace

void register_aggregation_rule_bulyan(AggregationRuleRegistry& rules) {
  rules.add({.name = "bulyan",
             .summary = "of each entry, the middle of what Multi-Krum selects",
             .options = {wrong_workers_option()},
             .declines_workers =
                 [](const Options& options, int workers) {
                   return needs_workers(options, workers, 4);
                 },
             .make = [](const Options& options, const RuleContext& context)
                 -> std::unique_ptr<AggregationRule> {
               return std::make_unique<Bulyan>(
                   context, option<std::int64_t>(options, "f"));
             }});
}

}  // namespace weft
