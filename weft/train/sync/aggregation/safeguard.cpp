// SafeguardSGD (Allen-Zhu, Ebrahimianghazani, Li and Alistarh,
// "Byzantine-Resilient Non-Convex Stochastic Gradient Descent", ICLR 2021,
// algorithm 1): as ByzantineSGD, but for functions that are not convex, over
// windows of steps. Of each worker, the sum of its gradients since the last
// multiple of the short window, and of the long one; a worker is good as long
// as both are within twice a threshold of one that most are within the
// threshold of. What is used is the mean of those that are good, and noise if
// asked for, which leads away from saddle points.
//
// A threshold of 0 is found in each step: it is `slack` times the least radius
// within which most workers are of one of them. Every `reset` steps all are
// good again, so that one that was ill for a while comes back: windows begin
// anew with it, and what it sends then is judged before it is used.
#include <algorithm>
#include <cmath>

#include "weft/base/philox.h"
#include "weft/base/ranges.h"
#include "weft/train/sync/entrywise.h"
#include "weft/train/sync/krum.h"
#include "weft/train/sync/pair_distances.h"

namespace weft {
namespace {

// A window of steps, and what its sums may differ by.
struct Window {
  std::int64_t steps = 1;
  double threshold = 0;  // 0: found anew in each step
};

class Safeguard : public AggregationRule {
 public:
  Safeguard(const Options& options, const RuleContext& context)
      : windows_{Window{option<std::int64_t>(options, "window"),
                        option<double>(options, "threshold")},
                 Window{option<std::int64_t>(options, "long_window"),
                        option<double>(options, "long_threshold")}},
        slack_(option<double>(options, "slack")),
        reset_(option<std::int64_t>(options, "reset")),
        noise_(option<double>(options, "noise")),
        seed_(context.seed),
        workers_(static_cast<std::size_t>(context.workers)),
        is_dropped_(workers_, false) {}

  void combine(const RulePart& part, std::span<float> result) override {
    const std::vector<Contribution> good = good_of(part.arrived);
    if (good.empty()) {
      throw Error(ErrorCode::kInvalidArgument, "sync.rule",
                  "all {} workers whose gradients have come are out",
                  part.arrived.size())
          .hint("a longer deadline, or a larger quorum");
    }
    const auto count = static_cast<double>(part.arrived.size());
    sum_of(good, count / static_cast<double>(good.size()), result);
    if (noise_ == 0) return;
    const RandomStream random{seed_, part.bucket,
                              static_cast<std::uint32_t>(steps_)};
    for (std::size_t i = 0; i < result.size(); ++i) {
      const auto words = random.block(i);
      result[i] += static_cast<float>(
          noise_ * static_cast<double>(normal_from(words[0], words[1])[0]));
    }
  }

  // The squared distances of all pairs of sums, of both windows.
  std::size_t measures() const override { return 2 * pairs_of(workers_); }
  void measure(const RulePart& part, std::span<double> numbers) override {
    const bool is_reset = reset_ > 0 && (steps_ + 1) % reset_ == 0;
    if (is_reset) is_dropped_.assign(workers_, false);
    const std::vector<Contribution> good = good_of(part.arrived);
    // Each is one of so many whose mean is used.
    const auto scale = static_cast<float>(static_cast<double>(workers_) /
                                          static_cast<double>(good.size()));
    for (std::size_t w = 0; w < windows_.size(); ++w) {
      std::vector<Contribution> sums;
      for (std::size_t i = 0; i < workers_; ++i) {
        const auto sum = part.slots[w * workers_ + i].span<float>();
        // A window begins with nothing summed.
        if (is_reset || steps_ % windows_[w].steps == 0) {
          std::ranges::fill(sum, 0.0f);
        }
        sums.push_back({static_cast<int>(i), sum});
      }
      for (const Contribution& each : good) {
        const auto i = static_cast<std::size_t>(each.rank);
        const auto sum = part.slots[w * workers_ + i].span<float>();
        for (std::size_t k = 0; k < sum.size(); ++k) {
          sum[k] += scale * each.values[k];
        }
      }
      add_pair_distances(
          sums, numbers.subspan(w * pairs_of(workers_), pairs_of(workers_)));
    }
  }

  bool decide(const RuleStep& step) override {
    ++steps_;
    margin_ = 0;
    const std::vector<bool> before = is_dropped_;
    for (std::size_t w = 0; w < windows_.size(); ++w) {
      drop(step.sums.subspan(w * pairs_of(workers_), pairs_of(workers_)),
           windows_[w].threshold, before);
    }
    if (std::ranges::count(is_dropped_, false) == 0) {
      throw Error(ErrorCode::kInvalidArgument, "sync.rule",
                  "safeguard has found all workers out in step {}",
                  step.number + 1)
          .hint("larger thresholds, or 0 to find them");
    }
    save(step.slots);
    return true;
  }

  // The sum of each worker, in the short window and in the long one.
  std::vector<RuleSlot> slots() const override {
    std::vector<RuleSlot> result;
    for (const char* window : {"short", "long"}) {
      for (std::size_t i = 0; i < workers_; ++i) {
        result.push_back({fmt::format("{}{}", window, i), DType::kF32});
      }
    }
    return result;
  }
  std::vector<RuleSlot> shared_slots() const override {
    return {{"dropped", DType::kF64, static_cast<std::int64_t>(workers_)},
            {"steps", DType::kF64, 1}};
  }
  void restored(std::span<const Tensor> shared_slots) override {
    const auto dropped = shared_slots[0].span<double>();
    is_dropped_.assign(dropped.begin(), dropped.end());
    steps_ = static_cast<std::int64_t>(shared_slots[1].item());
  }
  RuleFigures figures() const override {
    return {
        .selected = static_cast<double>(std::ranges::count(is_dropped_, false)),
        .margin = margin_};
  }

 private:
  std::vector<Contribution> good_of(
      std::span<const Contribution> arrived) const {
    std::vector<Contribution> good;
    for (const Contribution& each : arrived) {
      if (!is_dropped_[static_cast<std::size_t>(each.rank)]) {
        good.push_back(each);
      }
    }
    return good;
  }

  // Drops who is farther than twice the threshold from the middle.
  void drop(std::span<const double> distances, double threshold,
            const std::vector<bool>& before) {
    const auto distance = [&](std::size_t a, std::size_t b) {
      return a == b ? 0.0 : std::sqrt(distances[pair_index(a, b)]);
    };
    // The radius around each within which more than half of all are.
    const std::size_t most = workers_ / 2;  // places from 0
    std::size_t middle = workers_;
    double radius = 0;
    for (std::size_t i = 0; i < workers_; ++i) {
      if (before[i]) continue;
      std::vector<double> of_others;
      for (std::size_t j = 0; j < workers_; ++j) {
        if (!before[j]) of_others.push_back(distance(i, j));
      }
      if (of_others.size() <= most) continue;
      std::ranges::sort(of_others);
      // The nearest is itself. What is no number is near to nobody else, and is
      // out even where nobody is judged.
      if (!std::isfinite(of_others[1])) {
        is_dropped_[i] = true;
        continue;
      }
      if (middle == workers_ || of_others[most] < radius) {
        middle = i;
        radius = of_others[most];
      }
    }
    // Where most are near to nobody, nobody is judged.
    if (middle == workers_ || (threshold > 0 && radius > threshold)) return;
    const double bound = 2 * (threshold > 0 ? threshold : slack_ * radius);
    for (std::size_t i = 0; i < workers_; ++i) {
      if (before[i]) continue;
      const double apart = distance(i, middle);
      if (apart > bound) {
        is_dropped_[i] = true;
      } else if (bound > 0) {
        margin_ = std::max(margin_, apart / bound);
      }
    }
  }

  void save(std::span<const Tensor> shared_slots) const {
    if (shared_slots.empty()) return;
    std::ranges::copy(is_dropped_, shared_slots[0].span<double>().begin());
    shared_slots[1].span<double>()[0] = static_cast<double>(steps_);
  }

  std::vector<Window> windows_;
  double slack_;
  std::int64_t reset_;
  double noise_;
  std::uint64_t seed_;
  std::size_t workers_;
  std::vector<bool> is_dropped_;
  std::int64_t steps_ = 0;
  double margin_ = kNotMeasured;
};

std::optional<Refusal> safeguard_declines(const Options& options,
                                          const SyncRecipe&) {
  const auto window = option<std::int64_t>(options, "window");
  const auto longer = option<std::int64_t>(options, "long_window");
  if (longer >= window) return std::nullopt;
  return Refusal{fmt::format("a long window of {} steps", longer),
                 fmt::format("the short one has {}", window),
                 fmt::format("long_window = {}", 6 * window)};
}

std::optional<Refusal> safeguard_declines_workers(const Options&, int workers) {
  if (workers >= 3) return std::nullopt;
  return Refusal{fmt::format("{} worker{}", workers, workers == 1 ? "" : "s"),
                 "no two of them outvote a third", "3 workers"};
}

}  // namespace

void register_aggregation_rule_safeguard(AggregationRuleRegistry& rules) {
  rules.add(
      {.name = "safeguard",
       .summary = "drops whose sums over windows of steps go astray; bears "
                  "less than half",
       .options =
           {{.name = "window",
             .value = std::int64_t{100},
             .summary = "of the short sums",
             .range = kAtLeastOne,
             .unit = "steps"},
            {.name = "long_window",
             .value = std::int64_t{600},
             .summary = "of the long ones",
             .range = kAtLeastOne,
             .unit = "steps"},
            {"threshold", 0.0,
             "that right workers' short sums are within of each other; 0: "
             "found in each step",
             kNotNegative},
            {"long_threshold", 0.0, "the same of long ones", kNotNegative},
            {"slack",
             1.5,
             "what a threshold that is found is times the radius of most",
             {.least = 1}},
            {.name = "reset",
             .value = std::int64_t{0},
             .summary = "after which all are good again; 0: never",
             .range = {.least = 0, .most = 1e12},
             .unit = "steps"},
            {"noise", 0.0,
             "the deviation of what is added to each entry of the gradient",
             kNotNegative}},
       .declines = safeguard_declines,
       .declines_workers = safeguard_declines_workers,
       .make = [](const Options& options, const RuleContext& context)
           -> std::unique_ptr<AggregationRule> {
         return std::make_unique<Safeguard>(options, context);
       }});
}

}  // namespace weft
