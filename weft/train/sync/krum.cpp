#include "weft/train/sync/krum.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "weft/train/sync/entrywise.h"
#include "weft/train/sync/pair_distances.h"

namespace weft {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// The others whose distances count in the score of each worker.
std::vector<std::vector<std::size_t>> neighbours_of(
    std::span<const double> distances, std::size_t workers, std::size_t wrong) {
  WEFT_CHECK(workers >= wrong + 3);
  std::vector<std::vector<std::size_t>> result(workers);
  for (std::size_t i = 0; i < workers; ++i) {
    for (std::size_t j = 0; j < workers; ++j) {
      if (j != i) result[i].push_back(j);
    }
    std::ranges::stable_sort(result[i], {}, [&](std::size_t j) {
      return distances[pair_index(i, j)];
    });
    result[i].resize(workers - wrong - 2);
  }
  return result;
}

class MultiKrum : public DistanceRule {
 public:
  MultiKrum(const RuleContext& context, std::int64_t wrong,
            std::int64_t selected)
      : DistanceRule(context, wrong, 2),
        selected_(static_cast<std::size_t>(selected)) {}

  void combine(const RulePart& part, std::span<float> result) override {
    sum_of(of_ranks(part.arrived, chosen_),
           static_cast<double>(part.arrived.size()) /
               static_cast<double>(chosen_.size()),
           result);
  }

  RuleFigures figures() const override {
    return {.selected = static_cast<double>(chosen_.size())};
  }

 protected:
  void choose(std::span<const int> ranks,
              std::span<const double> distances) override {
    const std::size_t proven = ranks.size() - wrong() - 2;
    // Where nobody is wrong, all may be selected.
    const std::size_t most = wrong() == 0 ? ranks.size() : proven;
    if (selected_ > most) {
      throw Error(ErrorCode::kInvalidArgument, "sync.rule",
                  "{} workers are to be selected of the {} that have come, and "
                  "{} may be wrong: at most {} can be",
                  selected_, ranks.size(), wrong(), most)
          .hint("m = 0 selects as many as can be");
    }
    chosen_.clear();
    for (const std::size_t place :
         smallest_scores(krum_scores(distances, ranks.size(), wrong()),
                         selected_ > 0 ? selected_ : proven)) {
      chosen_.push_back(ranks[place]);
    }
    std::ranges::sort(chosen_);
  }

 private:
  std::size_t selected_;     // 0: as many as can be
  std::vector<int> chosen_;  // ranks, ascending
};

}  // namespace

std::vector<double> krum_scores(std::span<const double> distances,
                                std::size_t workers, std::size_t wrong) {
  const auto neighbours = neighbours_of(distances, workers, wrong);
  std::vector<double> scores(workers, 0.0);
  for (std::size_t i = 0; i < workers; ++i) {
    for (const std::size_t j : neighbours[i]) {
      scores[i] += distances[pair_index(i, j)];
    }
  }
  return scores;
}

std::vector<std::size_t> smallest_scores(std::span<const double> scores,
                                         std::size_t count) {
  std::vector<std::size_t> places(scores.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::stable_sort(places, {},
                           [&](std::size_t i) { return scores[i]; });
  places.resize(count);
  return places;
}

std::vector<std::vector<std::size_t>> bulyan_rounds(
    std::span<const double> distances, std::size_t workers, std::size_t wrong) {
  auto neighbours = neighbours_of(distances, workers, wrong);
  std::vector<double> scores = krum_scores(distances, workers, wrong);
  std::vector<std::vector<std::size_t>> rounds;
  for (std::size_t k = 0; k < workers - 2 * wrong - 2; ++k) {
    std::vector<std::size_t> best =
        smallest_scores(scores, workers - wrong - 2 - k);
    const std::size_t first = best[0];
    std::ranges::sort(best);
    rounds.push_back(std::move(best));
    scores[first] = kNever;
    for (std::size_t i = 0; i < workers; ++i) {
      if (scores[i] == kNever || std::erase(neighbours[i], first) == 0) {
        continue;
      }
      // It is added anew rather than subtracted from: what is left of a sum
      // depends on what was in it.
      scores[i] = 0;
      for (const std::size_t j : neighbours[i]) {
        scores[i] += distances[pair_index(i, j)];
      }
    }
  }
  return rounds;
}

// The distances of pairs of ranks, and of each rank how many buckets lack it.
std::size_t DistanceRule::measures() const {
  return pairs_of(workers_) + workers_;
}

void DistanceRule::measure(const RulePart& part, std::span<double> numbers) {
  std::vector<double> distances(pairs_of(part.arrived.size()), 0.0);
  add_pair_distances(part.arrived, distances);
  const auto lacking = numbers.subspan(pairs_of(workers_));
  std::ranges::fill(lacking, 1.0);
  for (std::size_t b = 0; b < part.arrived.size(); ++b) {
    const auto rank = static_cast<std::size_t>(part.arrived[b].rank);
    lacking[rank] = 0;
    for (std::size_t a = 0; a < b; ++a) {
      numbers[pair_index(static_cast<std::size_t>(part.arrived[a].rank),
                         rank)] = distances[pair_index(a, b)];
    }
  }
}

bool DistanceRule::decide(const RuleStep& step) {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < workers_; ++rank) {
    if (step.sums[pairs_of(workers_) + rank] == 0) {
      ranks.push_back(static_cast<int>(rank));
    }
  }
  // What a bucket has alone may be more.
  if (ranks.size() < fewest_) {
    throw Error(ErrorCode::kInvalidArgument, "sync.rule",
                "the gradients of {} workers have come as a whole in step {}, "
                "and {} are the fewest among which {} may be wrong",
                ranks.size(), step.number + 1, fewest_, wrong_)
        .hint("a longer deadline, or larger buckets");
  }
  std::vector<double> distances(pairs_of(ranks.size()));
  for (std::size_t b = 0; b < ranks.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      distances[pair_index(a, b)] =
          step.sums[pair_index(static_cast<std::size_t>(ranks[a]),
                               static_cast<std::size_t>(ranks[b]))];
    }
  }
  choose(ranks, distances);
  return true;
}

std::vector<Contribution> of_ranks(std::span<const Contribution> arrived,
                                   std::span<const int> ranks) {
  std::vector<Contribution> result;
  for (const int rank : ranks) {
    const auto found = std::ranges::find(arrived, rank, &Contribution::rank);
    WEFT_CHECK(found != arrived.end(), "rank {} was chosen and is not there",
               rank);
    result.push_back(*found);
  }
  return result;
}

std::unique_ptr<AggregationRule> make_multi_krum(const RuleContext& context,
                                                 std::int64_t wrong,
                                                 std::int64_t selected) {
  return std::make_unique<MultiKrum>(context, wrong, selected);
}

}  // namespace weft
