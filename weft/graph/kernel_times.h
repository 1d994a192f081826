// Kernels chosen by measured time: which of several is the fastest depends on
// the shape, the processor and its caches, and no rank can know it.
//
// A plan asks choose_fastest_kernel(). Where two or more candidates that
// compete take a call of at least kLeastFlops operations, each is run on
// operands of those types, and the fastest is taken: by the minimum of up to
// kMostRounds rounds, which end after kSecondsPerCall, or four times that where
// others use the machine and no time comes twice. The one of the highest rank
// stays unless another one takes less than kGain of its time, so that noise
// decides nothing.
//
// What was measured is kept in a file of cache_folder(), one for each
// processor, instruction set and version of the libraries, and holds from then
// on: a program that runs again makes the same choice, and computes the same
// bits. Several processes may share it: of two that measure one call at once,
// both take what was written first. Where it cannot be written, choices are
// made by rank, and one line on standard error says so; so they are in eager
// calls, most of which are made once.
//
// WEFT_KERNELS says how to choose: `measured`; `cached`, by the file alone,
// and by rank what it does not know; or `ranked`.
//
// Threads: safe from any; one measures at a time.
#pragma once

#include <vector>

#include "weft/graph/kernel.h"
#include "weft/graph/times_file.h"

namespace weft {

inline constexpr double kLeastFlops = 1 << 22;
inline constexpr int kMostRounds = 5;
inline constexpr double kSecondsPerCall = 0.1;  // and two rounds at least
inline constexpr double kGain = 0.95;

enum class KernelPolicy { kMeasured, kCached, kRanked };

// What WEFT_KERNELS says. Throws Error(kInvalidArgument) for another word.
KernelPolicy kernel_policy();

// As choose_kernel(), by the time that was or is now measured. Throws as that
// and kernel_policy() do.
KernelChoice choose_fastest_kernel(const OpCall& call);

// Measures each of some ways to do the same, in the order of their names.
using MeasureWays = std::function<std::vector<KernelTime>()>;

// For plans and eager calls alike: the times of ways that a kernel has to
// compute something, the first of which is what it does unmeasured: out of the
// file, or measured now and kept there. `what` names all that they depend on
// but the machine. None where they may not be measured or not be kept; then one
// line on standard error says so.
std::vector<KernelTime> times_of_ways(const std::string& what,
                                      const std::vector<std::string>& names,
                                      const MeasureWays& measure);

// The fastest of `times`, which are in the order of rank; the first unless
// another one takes less than kGain of its time. `times` is not empty.
const KernelTime& fastest(const std::vector<KernelTime>& times);

// Those of this machine, as they are in the cache now.
TimesFile kernel_times_of_machine();

}  // namespace weft
