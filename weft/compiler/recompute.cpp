#include "weft/compiler/recompute.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "weft/compiler/chain_order.h"
#include "weft/compiler/greedy_order.h"

namespace weft {
namespace {

// Steps run so many times on the average at most: beyond, a limit is not worth
// what it costs, and the search for it would not end soon.
constexpr std::size_t kMostRunsOfSteps = 8;
// How often the chain is told to take less than it thought it would.
constexpr int kMostTries = 8;

class Recomputer {
 public:
  Recomputer(const Function& function, const std::vector<PlanStep>& steps,
             const RecomputeOptions& options)
      : function_(function),
        steps_(steps),
        options_(options),
        memory_(function, steps, options.donated, options.can_overwrite) {}

  std::optional<Recomputed> run() {
    StepOrder once(steps_.size());
    std::iota(once.begin(), once.end(), std::size_t{0});
    const std::size_t before = arena_bytes(once);
    least_ = before;
    if (before <= options_.limit) return std::nullopt;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      seconds_.push_back(memory_.may_repeat(i) ? options_.seconds(i) : 0);
    }
    std::optional<StepOrder> greedy = greedy_order(once);
    std::optional<StepOrder> chain = chain_order();
    if (!greedy && !chain) fail();
    if (greedy) greedy = without_needless_runs(*greedy);
    if (chain) chain = without_needless_runs(*chain);
    const bool is_chain =
        chain && (!greedy || seconds_of(*chain) < seconds_of(*greedy));
    const StepOrder& order = is_chain ? *chain : *greedy;
    RecomputeReport report = report_of(order);
    report.bytes_before = before;
    report.bytes_after = arena_bytes(order);
    report.taken = is_chain ? "chain" : "greedy";
    return Recomputed{repeat_steps(function_, steps_, order),
                      std::move(report)};
  }

 private:
  // What a plan of these steps would take, exactly.
  std::size_t arena_bytes(const StepOrder& order) {
    RepeatedSteps repeated = repeat_steps(function_, steps_, order);
    std::map<NodeId, std::size_t> step_of;  // by its first node
    for (std::size_t i = 0; i < order.size(); ++i) {
      step_of[repeated.steps[i].nodes.front()] = order[i];
    }
    std::vector<ValueId> overwritten;
    for (const auto& [parameter, result] : options_.donated) {
      overwritten.push_back(repeated.function.parameters()[parameter]);
    }
    std::vector<PlanStep>& steps = repeated.steps;
    const Storage storage(repeated.function, steps, overwritten);
    const Places places(
        repeated.function, steps, storage, options_.donated,
        [&](std::size_t step, const std::vector<std::size_t>& inputs,
            std::size_t output) {
          // A copy of parts writes over nothing.
          return steps[step].copies.empty() &&
                 options_.can_overwrite(step_of.at(steps[step].nodes.front()),
                                        inputs, output);
        });
    return places.arena_bytes() + options_.scratch;
  }

  std::size_t peak(const StepOrder& order) const {
    return std::ranges::max(memory_.profile(order));
  }

  double seconds_of(const StepOrder& order) const {
    double seconds = 0;
    for (const std::size_t step : order) seconds += seconds_[step];
    return seconds;
  }

  std::optional<StepOrder> greedy_order(StepOrder order) {
    // The account and the arena differ by gaps and by parts of values. What
    // they differ by now tells when to measure again.
    while (true) {
      const std::size_t bytes = arena_bytes(order);
      if (bytes <= options_.limit) return order;
      const std::size_t start = peak(order);
      const std::size_t excess = bytes - options_.limit;
      do {
        std::optional<StepOrder> lower =
            with_lower_peak(memory_, seconds_, order);
        if (!lower || lower->size() > kMostRunsOfSteps * steps_.size()) {
          // What was done since may have been enough.
          const std::size_t last = arena_bytes(order);
          if (last <= options_.limit) return order;
          least_ = std::min(least_, last);
          return std::nullopt;
        }
        order = std::move(*lower);
      } while (peak(order) + excess > start);
    }
  }

  std::optional<StepOrder> chain_order() {
    const ChainOrder chain(memory_, seconds_);
    if (chain.stage_count() < 2 || options_.limit < options_.scratch) {
      return std::nullopt;
    }
    std::size_t room = options_.limit - options_.scratch;
    for (int i = 0; i < kMostTries; ++i) {
      std::optional<StepOrder> order = chain.order_within(room);
      if (!order) return std::nullopt;
      const std::size_t bytes = arena_bytes(*order);
      if (bytes <= options_.limit) return order;
      room -= std::min(room, bytes - options_.limit);
    }
    return std::nullopt;
  }

  // What was given up before something else was may find room after all: runs
  // are left out, the dearest first, where the account stays below `most`.
  StepOrder without_needless_runs(const StepOrder& order,
                                  std::size_t most) const {
    std::vector<bool> has_run(steps_.size(), false);
    std::vector<std::size_t> again;  // positions
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (has_run[order[i]]) again.push_back(i);
      has_run[order[i]] = true;
    }
    std::ranges::stable_sort(again, std::greater<>(),
                             [&](std::size_t i) { return seconds_[order[i]]; });
    std::vector<bool> is_needed(order.size(), true);
    const auto left = [&] {
      StepOrder found;
      for (std::size_t i = 0; i < order.size(); ++i) {
        if (is_needed[i]) found.push_back(order[i]);
      }
      return found;
    };
    for (const std::size_t i : again) {
      is_needed[i] = false;
      is_needed[i] = peak(left()) > most;
    }
    return left();
  }

  StepOrder without_needless_runs(const StepOrder& order) {
    // The account may go as far up as there is room in the arena; gaps may take
    // that, and then it may not go up at all.
    const std::size_t room = options_.limit - arena_bytes(order);
    for (const std::size_t most : {peak(order) + room, peak(order)}) {
      StepOrder fewer = without_needless_runs(order, most);
      if (arena_bytes(fewer) <= options_.limit) return fewer;
    }
    return order;
  }

  [[noreturn]] void fail() const {
    throw Error(ErrorCode::kExhausted, "@" + function_.name(),
                "its values do not fit into {} bytes, whatever is computed "
                "again",
                options_.limit)
        .detail(fmt::format("the least that was reached: {} bytes", least_))
        .hint(fmt::format("set the memory to {} bytes or more, or take smaller "
                          "batches",
                          least_));
  }

  RecomputeReport report_of(const StepOrder& order) const {
    RecomputeReport report{.limit = options_.limit};
    std::vector<std::size_t> runs(steps_.size(), 0);
    for (const std::size_t step : order) ++runs[step];
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (runs[i] < 2) continue;
      RepeatedStep step{.runs = runs[i]};
      for (const NodeId id : steps_[i].nodes) {
        const Node& node = function_.node(id);
        step.name += (step.name.empty() ? "" : ", ") + node.op->name();
      }
      step.layer = function_.node(steps_[i].nodes.back()).location.scope;
      step.seconds = static_cast<double>(runs[i] - 1) * seconds_[i];
      report.seconds += step.seconds;
      report.steps.push_back(std::move(step));
    }
    return report;
  }

  const Function& function_;
  const std::vector<PlanStep>& steps_;
  const RecomputeOptions& options_;
  OrderMemory memory_;
  std::vector<double> seconds_;  // by step
  // What a limit can be that the greedy order meets.
  std::size_t least_ = 0;
};

}  // namespace

std::optional<Recomputed> recompute(const Function& function,
                                    const std::vector<PlanStep>& steps,
                                    const RecomputeOptions& options) {
  return Recomputer(function, steps, options).run();
}

}  // namespace weft
