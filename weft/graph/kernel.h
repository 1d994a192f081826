// Kernels: what runs an op on a device. Each op has a ranked list of
// candidates; one that cannot take a call says why, and the plain reference
// stands at the end of every list.
//
// Threads: the registry is immutable once frozen. A PreparedKernel belongs to
// one plan and runs on one thread at a time (it may use parallel_for).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/op.h"

namespace weft {

// Where the operands of one run lie. All sizes were fixed by prepare().
struct KernelBuffers {
  void* const* inputs;
  void* const* outputs;
  void* scratch;  // scratch_bytes() of it, kAlignment-aligned
};

// A kernel made ready for one call: types, attributes and sizes are settled,
// so that running it neither allocates nor decides.
class PreparedKernel {
 public:
  virtual ~PreparedKernel() = default;
  virtual void run(const KernelBuffers& buffers) noexcept = 0;
  virtual std::size_t scratch_bytes() const { return 0; }
  // What it runs, where the candidate's name does not say: the implementation
  // that oneDNN chose, "jit:avx512_core".
  virtual std::string implementation() const { return ""; }
};

struct KernelCandidate {
  std::string op;
  std::string name;  // "onednn:convolution", "reference"
  int rank = 0;      // higher is tried first; the reference has rank 0
  // Why this kernel cannot take the call, or nothing if it can.
  std::optional<std::string> (*declines)(const OpCall&) = nullptr;
  // May throw what it finds too late: then the next candidate is tried.
  std::unique_ptr<PreparedKernel> (*prepare)(const OpCall&) = nullptr;
  // Output 0 may be written over input 0, where their sizes are equal.
  bool in_place = false;
  // Widens operands of bf16 and f16 to f32, runs a kernel of f32 and rounds
  // its results. A plan does so by casts, which join the loops around them.
  bool widens = false;
  // Which of those that compete is the fastest depends on shape and machine, so
  // that plans measure it.
  bool competes = false;
  // Why one of a lower rank is likely the faster, though this one can take the
  // call: a choice by rank passes it over, one by time (kernel_times.h) does
  // not.
  std::optional<std::string> (*yields)(const OpCall&) = nullptr;
};

class KernelRegistry {
 public:
  void add(KernelCandidate candidate);
  // Those of another registry, but for the ones for all ops.
  void add_from(const KernelRegistry& others);
  // The same for every op that has a candidate of its own; its `op` is empty.
  void add_to_all(KernelCandidate candidate);
  // Sorts by rank.
  void freeze();
  const std::vector<KernelCandidate>& candidates(std::string_view op) const;

 private:
  std::map<std::string, std::vector<KernelCandidate>, std::less<>> by_op_;
  std::vector<KernelCandidate> for_all_;
};

// weft/kernels supplies it.
const KernelRegistry& kernel_registry();
// The libraries behind it and their versions: "oneDNN 2.6.3, OpenBLAS 0.3.21".
std::string kernel_libraries();

// How long a candidate took for a call.
struct KernelTime {
  std::string name;
  double seconds;
};

// The name of a choice that is the op's own definition: one thread computes an
// element at a time.
inline constexpr std::string_view kReferenceKernel = "reference";

// The name of the candidate that runs an elementwise op as a loop of its own.
// What has a higher rank does better, where nothing is fused with the op.
inline constexpr std::string_view kLoopKernel = "simd:loop";

struct KernelChoice {
  std::unique_ptr<PreparedKernel> kernel;
  std::string name;            // the candidate's
  std::string implementation;  // the kernel's, or ""
  bool in_place = false;
  std::vector<std::string> declined;  // "name: why", in the order tried
  std::vector<KernelTime> times;      // of a choice by time; by rank

  // "onednn:convolution (jit:avx512_core)".
  std::string description() const;
};

// The candidate of the highest rank that takes the call, else the op's
// reference kernel. One whose preparation throws has declined. `favourite`
// names one that is tried before all others. Throws Error(kUnsupported) that
// lists who declined and why.
KernelChoice choose_kernel(const OpCall& call,
                           const KernelRegistry& kernels = kernel_registry(),
                           std::string_view favourite = {});

}  // namespace weft
