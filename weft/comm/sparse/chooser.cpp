#include "weft/comm/sparse/chooser.h"

#include <algorithm>
#include <cmath>

#include "weft/comm/sparse/fill.h"

namespace weft {
namespace {

// Of the newest sum in a running average.
constexpr double kNewestShare = 0.25;

// Items of a partition's sum; in a dense one, those that are not zero.
double items_of(const Stream& part) {
  if (!part.is_dense()) return static_cast<double>(part.count());
  return with_stream_types(part.type(), [&]<class, class Value>() {
    const auto values = part.values<Value>();
    return static_cast<double>(
        std::count_if(values.begin(), values.end(),
                      [](Value value) { return value != Value{0}; }));
  });
}

// What each of `ranks` random contributions holds whose sum holds `items`.
double contribution_of(double items, double size, int ranks) {
  if (items >= size) return size;
  return -size * std::expm1(std::log1p(-items / size) / ranks);
}

struct Candidate {
  const SparseAllReduceDef* algorithm;
  bool is_quantized;
  SparseCost cost;
  double seconds;

  std::string name() const {
    return algorithm->name + (is_quantized ? ", quantized" : "");
  }
};

std::string explain(const SparseWorkload& workload, const Level& network,
                    const std::vector<Candidate>& candidates) {
  const auto size = static_cast<double>(workload.type.size);
  std::string text = fmt::format(
      "{} ranks, {:.4g} of {} items each; the sum is expected to hold {:.4g} "
      "({:.3g} %), the fullest partition {:.2f} times its share\n",
      workload.ranks, workload.items, workload.type.size, workload.result_items,
      100 * workload.result_items / std::max(size, 1.), workload.skew);
  for (const Candidate& candidate : candidates) {
    const SparseCost& cost = candidate.cost;
    text += fmt::format(
        "{} {:<18} {:>10.4g} ms: {:.0f} messages {:.4g}, {:.4g} MB {:.4g}, "
        "computing {:.4g}\n",
        &candidate == candidates.data() ? "->" : "  ", candidate.name(),
        1e3 * candidate.seconds, cost.messages,
        1e3 * cost.messages * network.latency, cost.bytes / 1e6,
        1e3 * cost.bytes * network.seconds_per_byte,
        1e3 * cost.compute_seconds);
  }
  return text;
}

}  // namespace

SparseChooser::SparseChooser(const StreamType& type, int ranks,
                             const Level& network, const SumRates& rates)
    : type_(type), ranks_(ranks), network_(network), rates_(rates) {}

SparseWorkload SparseChooser::expect(double items) const {
  const auto size = static_cast<double>(type_.size);
  const double result = has_observed_ ? std::max(items, result_items_)
                                      : expected_items(size, items, ranks_);
  return {.ranks = ranks_,
          .type = type_,
          .items = items,
          .result_items = std::min({result, items * ranks_, size}),
          .skew = skew_,
          .dense_value_bytes = static_cast<double>(type_.value_bytes()),
          .rates = rates_};
}

SparseChoice SparseChooser::choose(double items,
                                   double quantized_value_bytes) const {
  const SparseWorkload exact = expect(items);
  SparseWorkload quantized = exact;
  quantized.dense_value_bytes = quantized_value_bytes;
  std::vector<Candidate> candidates;
  const auto consider = [&](const SparseAllReduceDef& algorithm,
                            bool is_quantized) {
    const SparseCost cost = algorithm.cost(is_quantized ? quantized : exact);
    candidates.push_back(
        {&algorithm, is_quantized, cost, cost.seconds(network_)});
  };
  for (const auto& algorithm : sparse_all_reduce_registry().all()) {
    consider(algorithm, false);
    if (algorithm.can_quantize && quantized_value_bytes > 0) {
      consider(algorithm, true);
    }
  }
  std::ranges::stable_sort(candidates, {}, &Candidate::seconds);
  const Candidate& best = candidates.front();
  return {best.algorithm, best.is_quantized, best.seconds,
          explain(exact, network_, candidates)};
}

void SparseChooser::observe(const Stream& result) {
  WEFT_CHECK(result.type() == type_);
  double items = 0;
  double contribution = 0;
  double largest = 0;
  for (const Stream& part : split(result, ranks_)) {
    const double part_items = items_of(part);
    const double part_contribution = contribution_of(
        part_items, static_cast<double>(part.type().size), ranks_);
    items += part_items;
    contribution += part_contribution;
    largest = std::max(largest, part_contribution);
  }
  const double skew = contribution > 0 ? largest * ranks_ / contribution : 1;
  const double share = has_observed_ ? kNewestShare : 1;
  result_items_ += share * (items - result_items_);
  skew_ += share * (skew - skew_);
  has_observed_ = true;
}

}  // namespace weft
