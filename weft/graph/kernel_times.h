// Kernels chosen by measured time: which of several is the fastest depends on
// the shape, the processor and its caches, and no rank can know it.
//
// A plan asks choose_fastest_kernel(). Where two or more candidates that
// compete take a call of at least kLeastFlops operations, each is run on
// operands of those types, and the fastest is taken: by the minimum of up to
// kMostRounds rounds, which end after kSecondsPerCall. The one of the highest
// rank stays unless another one takes less than kGain of its time, so that
// noise decides nothing.
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

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/kernel.h"

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

// The fastest of `times`, which are in the order of rank; the first unless
// another one takes less than kGain of its time. `times` is not empty.
const KernelTime& fastest(const std::vector<KernelTime>& times);

// Measured times in a file that processes share: one line of text for a call.
class KernelTimes {
 public:
  static constexpr std::size_t kMostEntries = 4096;

  // Reads `file`, if it is there. `machine` is its first line: a file with
  // another one is of another machine. Throws nothing: what is damaged or
  // foreign is not read, and complaint() says so.
  KernelTimes(std::filesystem::path file, std::string machine);

  // Times of exactly these candidates, or null.
  const std::vector<KernelTime>* find(
      const std::string& call, const std::vector<std::string>& names) const;
  // Keeps the times, unless the file has some by now, and returns those that it
  // has. Throws Error(kUnavailable) where it cannot be written.
  std::vector<KernelTime> add(const std::string& call,
                              std::vector<KernelTime> times);
  // Creates folder and file. Throws as add() does.
  void make_sure_it_can_be_written();

  bool is_full() const { return entries_.size() >= kMostEntries; }
  std::size_t size() const { return entries_.size(); }
  const std::filesystem::path& file() const { return file_; }
  const std::string& complaint() const { return complaint_; }

 private:
  void read();
  void read_line(std::string_view line);
  void write() const;

  std::filesystem::path file_;
  std::string machine_;
  std::string complaint_;
  std::size_t damaged_ = 0;  // lines
  std::map<std::string, std::vector<KernelTime>> entries_;
};

// Those of this machine, as they are in the cache now.
KernelTimes kernel_times_of_machine();

}  // namespace weft
