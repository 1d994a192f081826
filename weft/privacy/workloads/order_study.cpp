// One block, and tasks that differ in the order at which they take least: the
// more they do, the more there is to win by packing it by one of them
// (Tholoniat et al., EuroSys 2025, the study of heterogeneity in best alphas).
#include "weft/privacy/curve_zoo.h"
#include "weft/privacy/draws.h"
#include "weft/privacy/workload.h"

namespace weft {
namespace {

using namespace privacy;

constexpr double kCentre = 5;

// Curves by their best orders.
struct OrderBin {
  double order = 0;
  std::vector<NormalizedCurve> curves;
};

std::vector<OrderBin> bins_of(const RenyiCurve& room) {
  std::vector<OrderBin> bins;
  for (const double order : room.orders().all()) bins.push_back({order, {}});
  for (NormalizedCurve& curve : normalized_zoo(room, false))
    bins[curve.best].curves.push_back(std::move(curve));
  std::erase_if(bins, [](const OrderBin& bin) { return bin.curves.empty(); });
  return bins;
}

Workload make_order_study(const Options& options, std::uint64_t seed) {
  Workload workload;
  const RenyiCurve room = capacity(workload.budget, budget_orders());
  const std::vector<OrderBin> bins = bins_of(room);
  const auto deviation = option<double>(options, "std");
  std::vector<double> weights;
  for (const OrderBin& bin : bins)
    weights.push_back(normal_weight(bin.order - kCentre, deviation));
  Draws draws(seed, 0);
  for (std::int64_t i = 0; i < option<std::int64_t>(options, "tasks"); ++i) {
    const auto& curves = bins[draws.by_weight(weights)].curves;
    workload.tasks.push_back(
        {.demand = bent_curve(curves[draws.below(curves.size())], room,
                              option<double>(options, "least"),
                              option<double>(options, "range"))});
  }
  return workload;
}

}  // namespace

void register_privacy_workload_order_study(WorkloadRegistry& workloads) {
  workloads.add(
      {.name = "order_study",
       .summary = "tasks that differ in the order that is best for them",
       .options = {{"std", 2.0, "of the best orders, around 5", {.least = 0}},
                   {"tasks", std::int64_t{300}, "that ask", {.least = 1}},
                   {"least",
                    0.005,
                    "of the block at a task's best order",
                    {.least = 0, .most = 1, .is_open_below = true},
                    {},
                    "share"},
                   {"range",
                    0.05,
                    "of the block between orders 4, 5, 6 and 8",
                    {.least = 0, .is_open_below = true},
                    {},
                    "share"}},
       .make = make_order_study});
}

}  // namespace weft
