// The parameters of a recurrent layer's loop (sequence.h) that are the fastest
// on this machine: enumerated, pruned by a model of registers and caches, and
// the best of them timed (Zhao et al., 2019, section 4, for a processor).
//
// Threads: safe from any; one search runs at a time.
#pragma once

#include <vector>

#include "weft/kernels/recurrent/sequence.h"

namespace weft::recurrent {

// How many candidates are timed beside the default, and how long each.
inline constexpr std::size_t kTimedCandidates = 8;
inline constexpr double kSecondsEach = 0.02;

// What is good almost everywhere: one vector of units, two chains if registers
// allow, products with x taken ahead, all threads.
LoopParameters default_parameters(const SequenceShape& shape, int threads);
// The loop as the paper has it: the same, but with x multiplied in each step.
LoopParameters paper_parameters(const SequenceShape& shape, int threads);

// All that fit the registers of this machine, the likely fastest first, by what
// the model says of a step.
std::vector<LoopParameters> candidates(const SequenceShape& shape, int threads);

// Seconds of a step with x, as the model has it: for an order only.
double predicted_seconds(const SequenceShape& shape,
                         const LoopParameters& parameters);

// Measured seconds of a step, in the runs that a search makes.
double seconds_of_step(const SequenceShape& shape,
                       const LoopParameters& parameters);

// What a search times: the default first, then the likely fastest.
std::vector<LoopParameters> timed_parameters(const SequenceShape& shape,
                                             int threads);

// Seconds of a run over some steps with each of `parameters`, on weights that
// are already packed: the shortest of those that fit kSecondsEach. `steps` of
// the shape is not regarded.
std::vector<double> time_candidates(
    SequenceShape shape, const std::vector<LoopParameters>& parameters);

// The fastest of timed_parameters(), by times that are kept beside those of
// kernels (graph/kernel_times.h), by cell, sizes, batch, format and threads.
// The default where the layer is too small to be worth it, where kernels are
// chosen by rank, and unless another one is clearly faster.
LoopParameters fastest_parameters(const SequenceShape& shape, int threads);

}  // namespace weft::recurrent
