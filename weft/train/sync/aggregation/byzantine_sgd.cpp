// ByzantineSGD (Alistarh, Allen-Zhu and Li, "Byzantine Stochastic Gradient
// Descent", NeurIPS 2018, algorithm 1): a worker that moves the model by less
// than the noise in every step is found out by what it sends over all of them.
// Of each worker i,
//
//   A_i += <g_i, x - x_1>      B_i += g_i
//
// and it is good as long as A_i is within T_A of the median, B_i within 2 T_B
// of one that most are within T_B of, and g_i within 4 V of one that most are
// within 2 V of. Gradients of those that are good are added and divided by the
// number of all. Who is dropped once stays out, but still counts in medians.
//
//   T_B = 4 V sqrt(T C)    T_A = D T_B    C = log(16 m T / delta)
//
// What else the theorem takes is the optimizer's: it projects onto the ball of
// radius D around the first parameters, and what is used is the average
// iterate. A model that leaves the ball ends the run.
//
// For strongly convex problems it begins anew from the average, again and
// again: D is halved and T grows fourfold, as the optimizer's wrapper `restart`
// does it.
#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/base/parallel.h"
#include "weft/train/sync/byzantine_bounds.h"
#include "weft/train/sync/entrywise.h"
#include "weft/train/sync/krum.h"
#include "weft/train/sync/pair_distances.h"
#include "weft/train/sync/policy.h"
#include "weft/train/sync/running_sums.h"
#include "weft/train/sync/vector_median.h"

namespace weft {
namespace {

constexpr double kLost = std::numeric_limits<double>::infinity();

class ByzantineSgd : public AggregationRule {
 public:
  ByzantineSgd(const Options& options, const RuleContext& context)
      : bounds_(options),
        workers_(static_cast<std::size_t>(context.workers)),
        products_(workers_, 0.0),
        is_dropped_(workers_, false),
        near_sums_(workers_, context.seed, 0),
        near_gradients_(workers_, context.seed, 1) {
    begin_step();
  }

  void combine(const RulePart& part, std::span<float> result) override {
    std::vector<Contribution> good;
    for (const Contribution& each : part.arrived) {
      if (!is_dropped_[static_cast<std::size_t>(each.rank)]) {
        good.push_back(each);
      }
    }
    sum_of(good, 1, result);
  }

  // For each worker: what its product grows by, the distances of its sum and of
  // its gradient to the candidates for medians, and how many buckets lack it;
  // then the squared distance of the model from its beginning. Distances are
  // squares, and all is of contributions: gradients over the number of workers.
  std::size_t measures() const override { return 4 * workers_ + 1; }
  void measure(const RulePart& part, std::span<double> numbers) override;
  bool decide(const RuleStep& step) override;

  bool reads_parameters() const override { return true; }

  // The sum of each worker's contributions; then the first parameters.
  std::vector<RuleSlot> slots() const override {
    std::vector<RuleSlot> result;
    for (std::size_t i = 0; i < workers_; ++i) {
      result.push_back({fmt::format("sum{}", i), DType::kF64});
    }
    result.push_back({"first", DType::kF32});
    return result;
  }
  std::vector<RuleSlot> shared_slots() const override {
    const auto workers = static_cast<std::int64_t>(workers_);
    return {{"products", DType::kF64, workers},
            {"dropped", DType::kF64, workers},
            {"progress", DType::kF64, 4},
            {"bounds", DType::kF64,
             static_cast<std::int64_t>(bounds_.numbers().size())}};
  }
  void restored(std::span<const Tensor> shared_slots) override;
  RuleFigures figures() const override {
    return {
        .selected = static_cast<double>(std::ranges::count(is_dropped_, false)),
        .margin = margin_};
  }

 private:
  void begin_step();
  void measure_piece(const RulePart& part, std::size_t begin, std::size_t end,
                     std::span<double> numbers) const;
  void drop(std::span<const double> gradients_lack);
  void save(std::span<const Tensor> shared_slots) const;

  double workers() const { return static_cast<double>(workers_); }
  // These are in the scale of contributions.
  double noise() const { return bounds_.noise / workers(); }
  double tube() const {
    return bounds_.gradients_tube(workers(), phase_) / workers();
  }

  ByzantineBounds bounds_;
  std::size_t workers_;
  std::vector<double> products_;  // A
  std::vector<bool> is_dropped_;
  VectorMedian near_sums_;
  VectorMedian near_gradients_;
  double phase_ = 0;
  double steps_ = 0;    // of this phase, that are over
  bool is_new_ = true;  // nothing of this step is decided
  double margin_ = kNotMeasured;
};

void ByzantineSgd::begin_step() {
  near_sums_.begin(static_cast<std::int64_t>(steps_));
  near_gradients_.begin(static_cast<std::int64_t>(steps_));
  is_new_ = true;
}

void ByzantineSgd::measure(const RulePart& part, std::span<double> numbers) {
  // A phase begins with the first bucket of its first step.
  if (is_new_ && steps_ == 0) {
    products_.assign(workers_, 0.0);
    is_dropped_.assign(workers_, false);
    for (std::size_t i = 0; i < workers_; ++i) {
      std::ranges::fill(part.slots[i].span<double>(), 0.0);
    }
    std::ranges::copy(part.parameters,
                      part.slots[workers_].span<float>().begin());
  }
  const std::size_t size = part.parameters.size();
  const std::size_t pieces = (size + kSumPiece - 1) / kSumPiece;
  std::vector<double> parts(pieces * numbers.size(), 0.0);
  parallel_for(
      static_cast<std::int64_t>(pieces), 1,
      [&](std::int64_t first, std::int64_t last) {
        for (auto i = static_cast<std::size_t>(first);
             i < static_cast<std::size_t>(last); ++i) {
          measure_piece(
              part, i * kSumPiece, std::min((i + 1) * kSumPiece, size),
              std::span(parts).subspan(i * numbers.size(), numbers.size()));
        }
      });
  for (std::size_t i = 0; i < parts.size(); ++i) {
    numbers[i % numbers.size()] += parts[i];
  }
  const auto lacking = numbers.subspan(3 * workers_, workers_);
  std::ranges::fill(lacking, 1.0);
  for (const Contribution& each : part.arrived) {
    lacking[static_cast<std::size_t>(each.rank)] = 0;
  }
}

// Each gradient is read from memory once, for its product, its sum and its
// distance.
void ByzantineSgd::measure_piece(const RulePart& part, std::size_t begin,
                                 std::size_t end,
                                 std::span<double> numbers) const {
  const std::size_t size = end - begin;
  const auto sum_of_worker = [&](std::size_t i) {
    return part.slots[i].span<double>().subspan(begin, size);
  };
  std::vector<double> moved(size);
  const auto first = part.slots[workers_].span<float>();
  for (std::size_t i = 0; i < size; ++i) {
    moved[i] = static_cast<double>(part.parameters[begin + i]) -
               static_cast<double>(first[begin + i]);
    numbers[4 * workers_] += moved[i] * moved[i];
  }
  const auto of_rank = std::ranges::find(
      part.arrived, static_cast<int>(near_gradients_.candidate()),
      &Contribution::rank);
  const bool has_candidate = of_rank != part.arrived.end();
  for (const Contribution& each : part.arrived) {
    const auto i = static_cast<std::size_t>(each.rank);
    const auto gradient = each.values.subspan(begin, size);
    if (is_new_) numbers[i] = add_gradient(gradient, moved, sum_of_worker(i));
    if (!near_gradients_.is_over()) {
      numbers[2 * workers_ + i] =
          has_candidate
              ? squared_distance(gradient, of_rank->values.subspan(begin, size))
              : kLost;
    }
  }
  if (near_sums_.is_over()) return;
  for (std::size_t i = 0; i < workers_; ++i) {
    numbers[workers_ + i] = squared_distance(
        std::span<const double>(sum_of_worker(i)),
        std::span<const double>(sum_of_worker(near_sums_.candidate())));
  }
}

bool ByzantineSgd::decide(const RuleStep& step) {
  const double count = workers();
  const auto numbers = [&](std::size_t kind) {
    return step.sums.subspan(kind * workers_, workers_);
  };
  if (is_new_) {
    const double moved = std::sqrt(step.sums[4 * workers_]);
    // Rounding of parameters may leave them a little outside.
    if (!(moved <= bounds_.radius_of(phase_) * (1 + 1e-3))) {
      throw Error(ErrorCode::kInvalidArgument, "sync.rule",
                  "parameters are {:.4g} from where they began in step {}, and "
                  "byzantine_sgd was told that they stay within d = {:.4g}",
                  moved, step.number + 1, bounds_.radius_of(phase_))
          .hint(bounds_.restarts
                    ? "optimizer.wrap = [\"restart(…)\"] with the same radius "
                      "and horizon"
                    : "optimizer.wrap = [\"project(onto=ball(radius=…), "
                      "around=start)\", \"average\"], or a larger d");
    }
    if (steps_ >= bounds_.horizon_of(phase_)) {
      throw Error(ErrorCode::kInvalidArgument, "sync.rule",
                  "step {} is beyond the horizon of byzantine_sgd, whose "
                  "thresholds are those of {} steps",
                  step.number + 1, bounds_.horizon)
          .hint("a horizon as long as the training");
    }
    for (std::size_t i = 0; i < workers_; ++i) {
      // One that is no number is out, even where nobody is near to most.
      if (std::isfinite(numbers(0)[i])) {
        products_[i] += numbers(0)[i] * count;
      } else {
        is_dropped_[i] = true;
      }
    }
    is_new_ = false;
  }
  std::vector<double> gradients(numbers(2).begin(), numbers(2).end());
  for (std::size_t i = 0; i < workers_; ++i) {
    // One that has not come is near to nobody.
    if (numbers(3)[i] > 0) gradients[i] = kLost;
  }
  near_sums_.look(numbers(1), tube() * tube());
  near_gradients_.look(gradients, 4 * noise() * noise());
  if (!near_sums_.is_over() || !near_gradients_.is_over()) return false;
  drop(numbers(3));
  ++steps_;
  if (bounds_.restarts && steps_ >= bounds_.horizon_of(phase_)) {
    ++phase_;
    steps_ = 0;
  }
  save(step.slots);
  begin_step();
  return true;
}

// Lines 6 of the algorithm. Where most workers are near to no one, which they
// are with probability below delta, nobody is judged by that.
void ByzantineSgd::drop(std::span<const double> gradients_lack) {
  std::vector<double> sorted = products_;
  std::ranges::sort(sorted);
  const double median = sorted[(workers_ - 1) / 2];
  const double product_tube = bounds_.radius_of(phase_) * tube() * workers();
  margin_ = 0;
  for (std::size_t i = 0; i < workers_; ++i) {
    if (is_dropped_[i]) continue;
    double most = std::abs(products_[i] - median) / product_tube;
    if (near_sums_.is_found()) {
      most = std::max(
          most, std::sqrt(near_sums_.squared_distances()[i]) / (2 * tube()));
    }
    if (near_gradients_.is_found() && gradients_lack[i] == 0) {
      most = std::max(most, std::sqrt(near_gradients_.squared_distances()[i]) /
                                (4 * noise()));
    }
    if (most <= 1) {
      margin_ = std::max(margin_, most);
    } else {
      is_dropped_[i] = true;
    }
  }
  const auto lost = std::ranges::count(is_dropped_, true);
  if (static_cast<double>(lost) > bounds_.alpha * workers()) {
    throw Error(ErrorCode::kInvalidArgument, "sync.rule",
                "byzantine_sgd has found {} of {} workers out, which is more "
                "than a share of alpha = {:g}: right ones are among them",
                lost, workers_, bounds_.alpha)
        .hint("a larger v or calibration, or alpha if there are as many");
  }
}

void ByzantineSgd::save(std::span<const Tensor> shared_slots) const {
  if (shared_slots.empty()) return;
  std::ranges::copy(products_, shared_slots[0].span<double>().begin());
  std::ranges::copy(is_dropped_, shared_slots[1].span<double>().begin());
  std::ranges::copy(
      std::vector<double>{phase_, steps_,
                          static_cast<double>(near_sums_.last()),
                          static_cast<double>(near_gradients_.last())},
      shared_slots[2].span<double>().begin());
  std::ranges::copy(bounds_.numbers(), shared_slots[3].span<double>().begin());
}

void ByzantineSgd::restored(std::span<const Tensor> shared_slots) {
  if (!std::ranges::equal(shared_slots[3].span<double>(), bounds_.numbers())) {
    throw refused("checkpoint", "this checkpoint",
                  {"other v, d, horizon, delta, calibration or restarts",
                   "what was dropped by some thresholds is not what would have "
                   "been by others",
                   "go on with those of before, or begin anew"},
                  ErrorCode::kUnsupported);
  }
  const auto products = shared_slots[0].span<double>();
  products_.assign(products.begin(), products.end());
  const auto dropped = shared_slots[1].span<double>();
  is_dropped_.assign(dropped.begin(), dropped.end());
  const auto progress = shared_slots[2].span<double>();
  phase_ = progress[0];
  steps_ = progress[1];
  near_sums_.set_last(static_cast<std::size_t>(progress[2]));
  near_gradients_.set_last(static_cast<std::size_t>(progress[3]));
  begin_step();
}

std::optional<Refusal> byzantine_sgd_declines(const Options&,
                                              const SyncRecipe& recipe) {
  // What it proves is of gradients of one model.
  if (!policy_of(recipe).def->sends_gradients) {
    return Refusal{"policy " + in_quotes(recipe.policy),
                   "what travels are changes of copies, and its thresholds are "
                   "those of gradients",
                   "policy = \"server\" or \"allreduce\", or rule = "
                   "\"safeguard\""};
  }
  if (recipe.sparsify != "none") {
    return Refusal{"sparsify " + in_quotes(recipe.sparsify),
                   "what is sent late is no gradient of the step in which it "
                   "comes",
                   "leave it out"};
  }
  return std::nullopt;
}

std::optional<Refusal> byzantine_sgd_declines_workers(const Options& options,
                                                      int workers) {
  const auto alpha = option<double>(options, "alpha");
  if (workers > 1 || alpha == 0) return std::nullopt;
  return Refusal{"1 worker",
                 fmt::format("a share of {:g} of it may be wrong, and nobody "
                             "would be left to compare it to",
                             alpha),
                 "alpha = 0, or more workers"};
}

}  // namespace

void register_aggregation_rule_byzantine_sgd(AggregationRuleRegistry& rules) {
  rules.add({.name = "byzantine_sgd",
             .summary =
                 "drops for ever whose sums over all steps go astray; wants "
                 "gradients of bounded noise, and an optimizer that projects "
                 "and averages",
             .options = ByzantineBounds::options(),
             .declines = byzantine_sgd_declines,
             .declines_workers = byzantine_sgd_declines_workers,
             .make = [](const Options& options, const RuleContext& context)
                 -> std::unique_ptr<AggregationRule> {
               return std::make_unique<ByzantineSgd>(options, context);
             }});
}

}  // namespace weft
