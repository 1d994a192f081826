#include "weft/simulate/recurrent_chips.h"

#include <algorithm>
#include <bit>
#include <tuple>

namespace weft {
namespace {

std::int64_t divided_up(std::int64_t size, std::int64_t part) {
  return (size + part - 1) / part;
}

// Levels of a sum of so many numbers, two by two.
std::int64_t levels(std::int64_t count) {
  return std::bit_width(static_cast<std::uint64_t>(count - 1));
}

}  // namespace

double utilization(const RecurrentLayer& layer, const DotTile& tile) {
  const std::int64_t rows = divided_up(layer.hidden, tile.units) * tile.units;
  const std::int64_t columns =
      divided_up(layer.reduction(), tile.width()) * tile.width();
  return static_cast<double>(layer.hidden * layer.reduction()) /
         static_cast<double>(rows * columns);
}

LoopPlan plan_loop(const RecurrentLayer& layer, const LoopChip& chip,
                   std::int64_t units, std::int64_t chunks) {
  LoopPlan plan;
  plan.tile = {units, chunks, chip.lanes};
  const std::int64_t dots = layer.gates * units * chunks;
  plan.compute_tiles = dots + units * chip.elementwise_tiles;
  const std::int64_t rounds = divided_up(layer.hidden, units) *
                              divided_up(layer.reduction(), plan.tile.width());
  // Each dot product reads a bank of its own, a byte a number in each round.
  plan.memory_tiles = std::max(
      dots, divided_up(dots * rounds * chip.lanes, chip.memory_tile_bytes));
  // Equation of section 4.3: a round begins in every cycle, and what follows
  // the last one is waited for, as the next step needs all of the state.
  plan.step_cycles =
      rounds + levels(plan.tile.width()) + chip.elementwise_depth;
  plan.seconds =
      static_cast<double>(layer.steps * plan.step_cycles) / chip.hertz;
  return plan;
}

bool fits(const LoopPlan& plan, const LoopChip& chip) {
  return plan.compute_tiles <= chip.compute_tiles &&
         plan.memory_tiles <= chip.memory_tiles;
}

LoopPlan fastest_loop(const RecurrentLayer& layer, const LoopChip& chip) {
  LoopPlan best;
  const auto rank = [](const LoopPlan& plan) {
    return std::tuple(plan.step_cycles, plan.compute_tiles + plan.memory_tiles);
  };
  for (std::int64_t units = 1; layer.gates * units <= chip.compute_tiles;
       ++units) {
    for (std::int64_t chunks = 1;; ++chunks) {
      const LoopPlan plan = plan_loop(layer, chip, units, chunks);
      if (plan.compute_tiles > chip.compute_tiles) break;
      if (!fits(plan, chip)) continue;
      if (best.tile.units == 0 || rank(plan) < rank(best)) best = plan;
    }
  }
  return best;
}

double seconds_on(const RecurrentLayer& layer, const MatrixChip& chip) {
  const std::int64_t tiles = layer.gates *
                             divided_up(layer.hidden, chip.tile.units) *
                             divided_up(layer.reduction(), chip.tile.width());
  // Products run beside the vector instructions of the gates before.
  const std::int64_t cycles = std::max(tiles, chip.step_depth);
  return static_cast<double>(layer.steps * cycles) / chip.hertz;
}

}  // namespace weft
