// All tasks are alike but for the number of blocks that they ask of: the more
// it differs, the more there is to win by preferring those that take less in
// all (Tholoniat et al., EuroSys 2025, the study of heterogeneity in blocks).
#include <algorithm>
#include <cmath>

#include "weft/base/error.h"
#include "weft/privacy/curve_zoo.h"
#include "weft/privacy/draws.h"
#include "weft/privacy/workload.h"

namespace weft {
namespace {

using namespace privacy;

constexpr double kBestOrder = 5;

// Numbers from 1 to most have a normal distribution's density as their weights.
std::size_t discrete_normal(Draws& draws, double mean, double deviation,
                            std::size_t most) {
  std::vector<double> weights;
  for (std::size_t n = 1; n <= most; ++n) {
    const double away = static_cast<double>(n) - mean;
    weights.push_back(normal_weight(away, deviation));
  }
  return 1 + draws.by_weight(weights);
}

Workload make_block_study(const Options& options, std::uint64_t seed) {
  const auto blocks =
      static_cast<std::size_t>(option<std::int64_t>(options, "blocks"));
  Workload workload{
      .first_blocks = blocks, .choice = BlockChoice::kUniform, .tasks = {}};
  const RenyiCurve room = capacity(workload.budget, budget_orders());
  std::vector<NormalizedCurve> curves = normalized_zoo(room, false);
  std::erase_if(curves, [&](const NormalizedCurve& curve) {
    return room.orders()[curve.best] != kBestOrder;
  });
  const auto mean = static_cast<double>(option<std::int64_t>(options, "mean"));
  const auto deviation = option<double>(options, "std");
  if (mean > static_cast<double>(blocks)) {
    throw Error(ErrorCode::kInvalidArgument, "block_study",
                "tasks ask of {} blocks on average, and there are {}", mean,
                blocks);
  }
  Draws draws(seed, 0);
  for (std::int64_t i = 0; i < option<std::int64_t>(options, "tasks"); ++i) {
    const NormalizedCurve& curve = curves[draws.below(curves.size())];
    // A range below 0 would turn the curve over.
    double range = 0;
    do {
      range = option<double>(options, "range") +
              option<double>(options, "range_std") * draws.normal();
    } while (range <= 0);
    workload.tasks.push_back(
        {.blocks = discrete_normal(draws, mean, deviation, blocks),
         .demand =
             bent_curve(curve, room, option<double>(options, "least"), range)});
  }
  return workload;
}

}  // namespace

void register_privacy_workload_block_study(WorkloadRegistry& workloads) {
  workloads.add(
      {.name = "block_study",
       .summary = "tasks that differ in how many blocks they ask of",
       .options = {{"std", 4.0, "of the number of blocks", {.least = 0}},
                   {"mean", std::int64_t{10}, "number of blocks", {.least = 1}},
                   {"blocks", std::int64_t{20}, "that there are", {.least = 1}},
                   {"tasks", std::int64_t{300}, "that ask", {.least = 1}},
                   {"least",
                    0.05,
                    "of a block at a task's best order",
                    {.least = 0, .most = 1, .is_open_below = true},
                    {},
                    "share"},
                   {"range",
                    0.05,
                    "of a block between orders 4, 5, 6 and 8",
                    {.least = 0, .is_open_below = true},
                    {},
                    "share"},
                   {"range_std", 0.0, "of that range", {.least = 0}}},
       .make = make_block_study});
}

}  // namespace weft
