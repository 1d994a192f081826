// The cycle model of two chips: formulas against counting, and the paper's
// table.
#include "weft/simulate/recurrent_chips.h"

#include <gtest/gtest.h>
#include <vector>

namespace weft::recurrent_chips_test {
namespace {

RecurrentLayer lstm(std::int64_t hidden, std::int64_t steps = 1) {
  return {4, hidden, hidden, steps};
}
RecurrentLayer gru(std::int64_t hidden, std::int64_t steps = 1) {
  return {3, hidden, hidden, steps};
}

TEST(RecurrentChips, UtilizationIsWhatCountingSays) {
  for (const std::int64_t hidden : {1, 5, 17, 40}) {
    for (const std::int64_t inputs : {1, 7, 33}) {
      for (const DotTile tile :
           {DotTile{4, 2, 3}, DotTile{1, 1, 1}, DotTile{7, 3, 5}}) {
        const RecurrentLayer layer{4, hidden, inputs, 1};
        std::int64_t made = 0;
        std::int64_t used = 0;
        for (std::int64_t row = 0; row < hidden; row += tile.units) {
          for (std::int64_t column = 0; column < layer.reduction();
               column += tile.width()) {
            for (std::int64_t i = row; i < row + tile.units; ++i) {
              for (std::int64_t k = column; k < column + tile.width(); ++k) {
                ++made;
                used += i < hidden && k < layer.reduction() ? 1 : 0;
              }
            }
          }
        }
        EXPECT_DOUBLE_EQ(utilization(layer, tile),
                         static_cast<double>(used) / static_cast<double>(made));
      }
    }
  }
}

// Matrix tiles lose up to half of the multiplications, a loop none.
TEST(RecurrentChips, UtilizationOfTheTwoChips) {
  const DotTile matrix = MatrixChip().tile;
  const std::vector<std::pair<std::int64_t, double>> expected = {
      {256, 0.455},  {512, 0.546},  {1024, 0.809},
      {1536, 0.945}, {2048, 0.809}, {2560, 0.887}};
  for (const auto& [hidden, share] : expected) {
    EXPECT_NEAR(utilization(lstm(hidden), matrix), share, 1e-3) << hidden;
    EXPECT_EQ(utilization(lstm(hidden), {4, 8, 64}), 1) << hidden;
  }
}

TEST(RecurrentChips, MoreAtOnceIsNeverSlowerButForTheLevelsOfASum) {
  const LoopChip chip;
  for (const std::int64_t hidden : {17, 256, 1000}) {
    for (std::int64_t units = 1; units < 12; ++units) {
      for (std::int64_t chunks = 1; chunks < 12; ++chunks) {
        const auto cycles = [&](std::int64_t u, std::int64_t c) {
          return plan_loop(lstm(hidden), chip, u, c).step_cycles;
        };
        EXPECT_LE(cycles(units + 1, chunks), cycles(units, chunks));
        EXPECT_LE(cycles(units, chunks + 1), cycles(units, chunks) + 1);
      }
    }
  }
}

TEST(RecurrentChips, TheFastestLoopFitsAndNoOtherIsFaster) {
  const LoopChip chip;
  for (const RecurrentLayer& layer : {lstm(256), lstm(1536), gru(2560)}) {
    const LoopPlan best = fastest_loop(layer, chip);
    EXPECT_TRUE(fits(best, chip));
    for (std::int64_t units = 1; units < 70; ++units) {
      for (std::int64_t chunks = 1; chunks < 70; ++chunks) {
        const LoopPlan plan = plan_loop(layer, chip, units, chunks);
        if (fits(plan, chip)) {
          EXPECT_GE(plan.step_cycles, best.step_cycles);
        }
      }
    }
  }
  // 4 × 8192 × 16384 bytes of weights are more than the array holds.
  EXPECT_EQ(fastest_loop(lstm(8192), chip).tile.units, 0);
}

// Table 6 in milliseconds: the array, and the machine of matrix tiles. The
// latency of one short step is more than the model knows of.
TEST(RecurrentChips, ReproduceTheTableOfThePaper) {
  struct Row {
    RecurrentLayer layer;
    double loop_ms, matrix_ms;
  };
  for (const Row& row : std::vector<Row>{{lstm(256, 150), 0.0419, 0.425},
                                         {lstm(512, 25), 0.0139, 0.077},
                                         {lstm(1024, 25), 0.0292, 0.074},
                                         {lstm(1536, 50), 0.1224, 0.145},
                                         {lstm(2048, 25), 0.1060, 0.074},
                                         {gru(512, 1), 0.0004, 0.013},
                                         {gru(1024, 1500), 1.4430, 3.792},
                                         {gru(1536, 375), 0.7463, 0.951},
                                         {gru(2048, 375), 1.2833, 0.954},
                                         {gru(2560, 375), 1.9733, 0.993}}) {
    SCOPED_TRACE(row.layer.hidden);
    const double loop = 1e3 * fastest_loop(row.layer, LoopChip()).seconds;
    const double matrix = 1e3 * seconds_on(row.layer, MatrixChip());
    EXPECT_GT(loop, row.loop_ms / 2);
    EXPECT_LT(loop, row.loop_ms * 2);
    if (row.layer.steps > 1) {
      EXPECT_NEAR(matrix, row.matrix_ms, 0.15 * row.matrix_ms);
    }
    // Which of the two is the faster.
    EXPECT_EQ(loop < matrix, row.loop_ms < row.matrix_ms);
  }
}

}  // namespace
}  // namespace weft::recurrent_chips_test
