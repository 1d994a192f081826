// A static plan: the steps in order, each with its kernel and its buffers.
//
// Threads: one run at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/compiler/batch_norm_form.h"
#include "weft/compiler/recompute_report.h"
#include "weft/compiler/step_reads.h"
#include "weft/graph/function.h"
#include "weft/runtime/plan/step_info.h"

namespace weft {

// Nodes that move bytes, which no step does: what they would copy lies where it
// belongs (storage.h). Of some only a part does; these have a step for the
// rest.
struct UncopiedNodes {
  std::vector<std::string> texts;  // in the text form
  std::size_t bytes = 0;           // that are not copied
};

struct PlanOptions {
  std::vector<std::pair<std::size_t, std::size_t>> donated = {};
  bool fuse = true;
  // Look at every result for NaN and infinity, and at all indices.
  bool check_numerics = false;
  // Passes that are left out (compiler/pass.h).
  std::vector<std::string> without = {};
  // How far batch norm is fused with what is around it.
  BatchNormForm batch_norm = BatchNormForm::kAuto;
  // Bytes that the arena may have. To keep within, steps run a second time
  // where their values would be kept for long (compiler/recompute.h), which is
  // priced by measured times: steps that are new to this machine are timed.
  // Steps are then those of the whole batch, whatever batch_norm says.
  std::optional<std::size_t> memory_limit = {};
};

// Is told during a run how far it has come, on the thread that runs: gradients
// travel while the rest is computed, and parameters may still be on their way
// when it begins.
class RunObserver {
 public:
  // A result is final.
  virtual void on_result(std::size_t index) = 0;
  // The run is about to read an argument for the first time. It waits for this
  // to return; who reads no bytes of an argument does not ask.
  virtual void before_argument(std::size_t /*index*/) {}

 protected:
  ~RunObserver() = default;
};

class Plan {
 public:
  // Plans `function`, whose dims must all be static. This is slow: it
  // simplifies, chooses a kernel for every step and generates code. Throws
  // Error(kUnsupported) if no kernel takes a node, or if a donated parameter is
  // also another result; Error(kExhausted) if the memory limit cannot be met.
  Plan(const Function& function, const PlanOptions& options);
  ~Plan();
  Plan(Plan&&) noexcept;

  // Bytes of the arena: of its buffers, and of the scratch shared by the steps.
  std::size_t arena_bytes() const;
  std::size_t buffer_bytes() const;
  // Sum of all intermediate buffers without reuse, for comparison.
  std::size_t unshared_bytes() const;
  const std::vector<StepInfo>& steps() const;
  const UncopiedNodes& uncopied() const;
  // What is computed again to keep within the memory limit; null where there is
  // none, or nothing had to be.
  const RecomputeReport* recomputed() const;
  const std::vector<TensorType>& result_types() const;

  // Runs with the arguments and results at these addresses. `arena` has
  // arena_bytes(). Tells `observer`, if there is one, about each argument and
  // each result once.
  // Throws IndexError, before anything runs, if an argument that some op takes
  // as indices holds one outside of its axis (graph/index_check.h); with
  // check_numerics Error(kNumeric), and IndexError for computed indices too,
  // which are clamped otherwise; what the observer throws; and where steps meet
  // other ranks: what require_collectives() throws, before anything runs, and
  // what ended the exchange (graph/collectives.h).
  void run(std::span<void* const> arguments, std::span<void* const> results,
           void* arena, RunObserver* observer = nullptr);
  // The same, adding the seconds each step took to `seconds` (one per step).
  void run_timed(std::span<void* const> arguments,
                 std::span<void* const> results, void* arena,
                 std::span<double> seconds);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft
