// An LSTM or a GRU over a whole sequence of few rows, as one loop over time:
// what a candidate kernel prepares, what the search tries.
//
// The cell is written as loops over its hidden units (Zhao et al., "Serving
// Recurrent Neural Networks Efficiently with a Spatial Accelerator", MLSys
// 2019): for a block of units the sums of all gates stay in registers, the
// elementwise work follows there, and only gates, cells and states are stored.
// The lanes of a vector are units, where the paper's are those of a dot
// product: no sum runs across lanes, and the weights of a block are one stream
// of memory. Each thread owns some blocks for the whole sequence, and so their
// weights stay in its caches; threads meet once in a step.
//
// Threads: plain data; a sequence is run by one team at a time.
#pragma once

#include <string>

#include "weft/base/team.h"
#include "weft/kernels/recurrent/packed_weights.h"

namespace weft::recurrent {

enum class Cell { kLstm, kGru };

struct SequenceShape {
  Cell cell;
  std::size_t steps, batch, inputs, hidden;
  DType weights = DType::kF32;  // or bf16 or i8: how they are multiplied

  std::size_t weight_blocks() const { return cell == Cell::kLstm ? 4 : 3; }
};

// What is free to choose: the results differ by the order of their sums alone,
// and for fixed parameters not at all, on any number of threads.
struct LoopParameters {
  std::size_t units = 0;   // of a block: a few vectors of them
  std::size_t chains = 1;  // sums of each gate, of alternate rows of weights
  std::size_t ahead = 1;   // steps whose products with x are taken together
  int threads = 1;         // that share the units out

  bool operator==(const LoopParameters&) const = default;
};
std::string to_string(const LoopParameters& parameters);

// Lanes of f32 of this machine's vectors, and its vector registers.
std::size_t machine_lanes();
std::size_t machine_registers();

// How the weights with x, and those with the state, are laid out.
PanelLayout input_layout(const SequenceShape& shape, std::size_t units);
PanelLayout state_layout(const SequenceShape& shape, std::size_t units);

struct Sequence {
  SequenceShape shape;
  LoopParameters parameters;
  Panels input_weights;
  Panels state_weights;
  const float* x;           // [steps, batch, inputs]
  const float* h;           // [batch, hidden]
  const float* c;           // the same; none of a GRU
  const float* input_bias;  // [weight_blocks, hidden]
  const float* state_bias;  // of a GRU alone
  float* y;                 // [steps, batch, hidden]
  float* h_last;            // [batch, hidden]
  float* c_last;            // none of a GRU
  // [steps, batch, 4, hidden], as the op returns them; until a step is
  // computed, its products with x lie there.
  float* gates;
  float* cells;        // [steps, batch, hidden]; none of a GRU
  std::byte* scratch;  // scratch_bytes() for each thread
};

// For one thread; a multiple of 64.
std::size_t scratch_bytes(const SequenceShape& shape,
                          const LoopParameters& parameters);

// What one member of a team does.
using SequenceFunction = void (*)(const Sequence& sequence, TeamMember& self);
// Null where there is none for such parameters.
SequenceFunction find_sequence(const SequenceShape& shape,
                               const LoopParameters& parameters);

// Runs it on a team. Allocates nothing.
void run_sequence(const Sequence& sequence, SequenceFunction function) noexcept;

}  // namespace weft::recurrent
