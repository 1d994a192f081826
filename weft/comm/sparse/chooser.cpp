#include "weft/comm/sparse/chooser.h"

#include <algorithm>

#include "weft/comm/sparse/survey.h"

namespace weft {
namespace {

// The share of a sum's time that a survey may take.
constexpr double kMostSurveyShare = 0.1;
// Supports are known from samples, and the cheapest of several cuts is one
// whose price was guessed too low: cuts that gain less than this may lose.
constexpr double kUncertainty = 1.3;
// How even cuts are tried (Support::cut).
constexpr double kEvenness[] = {1, 0.5, 0};

struct Candidate {
  const SparseAllReduceDef* algorithm;
  bool is_quantized;
  const Partitions* partitions;
  double seconds;
  double bytes;
};

std::string explain(const SparseWorkload& workload,
                    const std::vector<Candidate>& candidates) {
  const double size = workload.support.size();
  const double sum = workload.support.sum_items(workload.ranks);
  std::string text = fmt::format(
      "{} ranks, {:.4g} of {} items each; the sum is expected to hold {:.4g} "
      "({:.3g} %)\n",
      workload.ranks, workload.support.items(), workload.type.size, sum,
      100 * sum / std::max(size, 1.));
  for (const Candidate& candidate : candidates) {
    text += fmt::format(
        "{} {:<16}{:<11} {:>10.4g} ms, {:.4g} MB, parts of up to {}\n",
        &candidate == candidates.data() ? "->" : "  ",
        candidate.algorithm->name, candidate.is_quantized ? ", quantized" : "",
        1e3 * candidate.seconds, candidate.bytes / 1e6,
        candidate.partitions->largest());
  }
  return text;
}

// Equal lengths first.
std::vector<Partitions> cuts_of(std::span<const Support> supports, int ranks) {
  // Only the first support is asked: where several are likely it is the even
  // one, as no cut would suit them all.
  std::vector<Partitions> cuts;
  for (const double evenness : kEvenness) {
    Partitions cut = supports[0].cut(ranks, evenness);
    if (std::ranges::find(cuts, cut) == cuts.end()) {
      cuts.push_back(std::move(cut));
    }
  }
  return cuts;
}

}  // namespace

SparseChooser::SparseChooser(const StreamType& type, int ranks,
                             const Level& network, const SumRates& rates)
    : type_(type), ranks_(ranks), network_(network), rates_(rates) {}

SparseWorkload SparseChooser::workload(const Support& support) const {
  WEFT_CHECK(support.size() == static_cast<double>(type_.size));
  return {.ranks = ranks_,
          .type = type_,
          .support = support,
          .partitions = Partitions::even(type_.size, ranks_),
          .dense_value_bytes = static_cast<double>(type_.value_bytes()),
          .rates = rates_};
}

SparseChoice SparseChooser::choose(const Support& support,
                                   double quantized_value_bytes) const {
  return choose(std::span(&support, 1), quantized_value_bytes);
}

SparseChoice SparseChooser::choose_blindly(double items,
                                           double quantized_value_bytes) const {
  const Support supports[] = {Support::random(type_.size, items),
                              Support::skewed(type_.size, items)};
  return choose(supports, quantized_value_bytes);
}

SparseChoice SparseChooser::choose(std::span<const Support> equally_likely,
                                   double quantized_value_bytes) const {
  SparseWorkload work = workload(equally_likely[0]);
  const double exact_bytes = work.dense_value_bytes;
  const std::vector<Partitions> cuts = cuts_of(equally_likely, ranks_);
  std::vector<Candidate> candidates;
  for (const Partitions& cut : cuts) {
    for (const auto& algorithm : sparse_all_reduce_registry().all()) {
      // What does not cut the vector costs the same for every cut.
      if (&cut != cuts.data() && !algorithm.is_partitioned) continue;
      for (const bool is_quantized : {false, true}) {
        if (is_quantized &&
            (!algorithm.can_quantize() || quantized_value_bytes <= 0)) {
          continue;
        }
        Candidate candidate{&algorithm, is_quantized, &cut, 0, 0};
        work.partitions = cut;
        work.dense_value_bytes =
            is_quantized ? quantized_value_bytes : exact_bytes;
        // Nobody knows which of them it will be, so the mean is what counts.
        for (const Support& support : equally_likely) {
          work.support = support;
          const SparseCost cost = algorithm.cost(work, network_);
          const auto count = static_cast<double>(equally_likely.size());
          candidate.seconds += cost.seconds / count;
          candidate.bytes += cost.bytes / count;
        }
        if (&cut != cuts.data()) candidate.seconds *= kUncertainty;
        candidates.push_back(candidate);
      }
    }
  }
  // Where prices are equal, the even cut and the order of the registry decide,
  // so that all ranks choose alike.
  std::ranges::stable_sort(candidates, {}, &Candidate::seconds);
  const Candidate& best = candidates.front();
  return {best.algorithm, best.is_quantized, *best.partitions, best.seconds,
          explain(workload(equally_likely[0]), candidates)};
}

bool SparseChooser::should_survey(double items) const {
  // How skewed the support is cannot be known before a survey.
  const double sum = choose(Support::random(type_.size, items)).seconds;
  return survey_seconds(ranks_, network_) <= kMostSurveyShare * sum;
}

Task<SparseChoice> sparse_all_reduce(Channel channel, Stream& stream,
                                     SparseChooser chooser,
                                     SparseOptions options,
                                     std::optional<std::uint64_t> items,
                                     double quantized_value_bytes) {
  // Nothing may be priced that could not be run.
  if (options.quantizer == nullptr) quantized_value_bytes = 0;
  SparseChoice choice;
  // A survey takes messages of its own: where it would take too much of the
  // time, the likely supports are priced instead.
  if (items && !chooser.should_survey(static_cast<double>(*items))) {
    options.most_items = *items;
    choice = chooser.choose_blindly(static_cast<double>(*items),
                                    quantized_value_bytes);
  } else {
    const Survey found = co_await survey(channel, stream);
    options.most_items = found.most_items;
    choice = chooser.choose(found.support, quantized_value_bytes);
  }
  options.partitions = choice.partitions;
  if (!choice.is_quantized) options.quantizer = nullptr;
  co_await choice.algorithm->run(channel, stream, options);
  co_return choice;
}

}  // namespace weft
