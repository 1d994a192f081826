// How many cycles a recurrent layer takes on two chips, and how well it fills
// their multipliers: a spatial array that runs the layer as a loop over hidden
// units (Plasticine), and a machine of matrix tiles (Brainwave). Both as Zhao
// et al., "Serving Recurrent Neural Networks Efficiently with a Spatial
// Accelerator", MLSys 2019, describe them; what they do not state is fitted to
// their table 6, and said to be.
//
// Threads: pure functions.
#pragma once

#include <cstdint>

namespace weft {

struct RecurrentLayer {
  std::int64_t gates;  // 4 of an LSTM, 3 of a GRU
  std::int64_t hidden;
  std::int64_t inputs;
  std::int64_t steps;

  // What each gate of a unit multiplies.
  std::int64_t reduction() const { return inputs + hidden; }
};

// What is multiplied at once: `units` rows of each gate, by `chunks` dot
// products of `lanes` numbers.
struct DotTile {
  std::int64_t units, chunks, lanes;

  std::int64_t width() const { return chunks * lanes; }
};

// The share of multiplications that are the layer's: those of tiles that stand
// over the edge of the matrix are lost.
//   H R / (⌈H / units⌉ units ⌈R / width⌉ width)
double utilization(const RecurrentLayer& layer, const DotTile& tile);

// An array of compute and memory tiles. The figures are those of section 6: 28
// nm, 1 GHz, 24 by 24 tiles, of which a third computes.
struct LoopChip {
  double hertz = 1e9;
  std::int64_t compute_tiles = 192;
  std::int64_t memory_tiles = 384;
  // The paper states 84 kB, 32 MB in all, and runs a GRU of 2,560 units, which
  // has 39 MB of weights: so much is needed for it.
  std::int64_t memory_tile_bytes = 104 << 10;
  std::int64_t lanes = 64;  // 16, of four numbers of 8 bits each
  // Compute tiles for the elementwise work of a unit. Fitted: with fewer the
  // search finds faster loops than the paper, with more slower ones.
  std::int64_t elementwise_tiles = 10;
  // Cycles from the last product of a step to the first of the next, beside
  // the levels of the sum. Fitted: rows of 1,024 units and more are within 2 %.
  std::int64_t elementwise_depth = 135;
};

// A loop on that array.
struct LoopPlan {
  DotTile tile = {};  // none fits where its units are 0
  std::int64_t compute_tiles = 0;
  std::int64_t memory_tiles = 0;
  std::int64_t step_cycles = 0;
  double seconds = 0;  // of the sequence
};

// With so many units and chunks at once; whether or not they fit.
LoopPlan plan_loop(const RecurrentLayer& layer, const LoopChip& chip,
                   std::int64_t units, std::int64_t chunks);
bool fits(const LoopPlan& plan, const LoopChip& chip);
// The fastest that fits, and of equal ones that with the fewest tiles
// (section 4.3). Its units are 0 where the weights have no room.
LoopPlan fastest_loop(const RecurrentLayer& layer, const LoopChip& chip);

// Matrix tiles of 400 rows by 40 columns, six side by side, at 250 MHz (Fowers
// et al., "A Configurable Cloud-Scale DNN Processor for Real-Time AI", 2018).
struct MatrixChip {
  double hertz = 250e6;
  DotTile tile = {400, 6, 40};
  // A step takes so many cycles however small it is, as each of its vector
  // instructions waits for one before. Fitted to the same table.
  std::int64_t step_depth = 700;
};
double seconds_on(const RecurrentLayer& layer, const MatrixChip& chip);

}  // namespace weft
