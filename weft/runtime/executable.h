// A function made ready to run: simplified, lowered, fused, planned into one
// arena, with a kernel for every step. Symbolic dims are settled by the
// arguments of each run; every combination is planned once, as long as there
// are not too many (ExecutableOptions::most_plans).
//
//   Executable step(std::move(function), {.donated = {{0, 1}}});
//   step.run(arguments, results);
//
// A run of a known combination allocates nothing, locks nothing and looks
// nothing up by name.
//
// A function that branches, loops or calls others of its graph has no single
// plan: the tagged executor runs it (tagged/executor.h), with plans for the
// pieces between.
//
// Threads: one run at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/compiler/search_options.h"
#include "weft/graph/frozen.h"
#include "weft/graph/function.h"
#include "weft/runtime/optimize_report.h"
#include "weft/runtime/plan/plan.h"
#include "weft/runtime/tagged/executor.h"
#include "weft/tensor/symbol.h"

namespace weft {

struct ExecutableOptions {
  // (parameter, result) pairs that share memory: the result overwrites the
  // argument. A pair that cannot be computed in place costs one copy.
  std::vector<std::pair<std::size_t, std::size_t>> donated = {};
  // Parameters whose values do not change any more, as weights that are served:
  // kernels pack them once, instead of in every run. Their bytes must stay as
  // they are, and every run must be given these very tensors. None may be
  // donated.
  Frozen frozen = {};
  // Check every op's results for NaN and infinity as it runs, and its indices.
  // Fuses nothing, so that the error can name the op: for diagnosis. Without,
  // indices that are arguments are checked, computed ones clamped.
  bool check_numerics = false;
  // Without, every op runs by itself, as it does eagerly, with the same bits.
  bool fuse = true;
  // Passes that are left out (compiler/pass.h): to find the one at fault.
  std::vector<std::string> without = {};
  // How far batch norm is fused with what is around it.
  BatchNormForm batch_norm = BatchNormForm::kAuto;
  // How a function that branches, loops or calls is executed.
  TaggedOptions tagged = {};
  // Looks for a faster form of each combination of shapes before it is planned
  // (optimize.h), which takes seconds. A function that branches, loops or calls
  // is refused.
  std::optional<SearchOptions> search = {};
  // Bytes that the values of a run may take beside arguments and results: what
  // would be kept for long is computed again (compiler/recompute.h), bit for
  // bit. A function that branches, loops or calls is refused.
  std::optional<std::size_t> memory_limit = {};
  // Plans that are kept, at least one. Of more combinations of shapes the one
  // that was used longest ago is planned anew when it returns.
  std::size_t most_plans = 64;
};

class Executable {
 public:
  // Checks the function, and plans nothing yet: the first run for each
  // combination of shapes does, and is slow. Throws what verify() throws, and
  // Error(kInvalidArgument) for a donation between different types, of what is
  // frozen, or by or to what is in another one, and as freeze().
  explicit Executable(Function function, ExecutableOptions options = {});
  // The function `entry` of a graph. Throws Error(kInvalidArgument) if there
  // is none.
  Executable(Graph graph, std::string_view entry,
             ExecutableOptions options = {});
  ~Executable();
  Executable(Executable&&) noexcept;

  const Function& function() const;

  // Runs on `arguments` into `results`, whose types must be the function's.
  // A donated result must be the very argument it overwrites (share memory).
  // Throws Error(kInvalidArgument) naming the parameter that does not fit, or
  // that is frozen and another tensor; what
  // Plan::run() and TaggedExecutor::run() throw.
  void run(std::span<const Tensor> arguments, std::span<const Tensor> results,
           RunObserver* observer = nullptr);
  // Allocates the results; donated arguments are overwritten and returned.
  std::vector<Tensor> run(std::span<const Tensor> arguments);
  // The same for a caller who gives donated arguments away: where a function
  // that branches, loops or calls cannot overwrite one, its result is returned
  // in memory of its own, which saves the copy.
  std::vector<Tensor> run_consuming(std::span<const Tensor> arguments);

  // Whether it branches, loops or calls.
  bool is_tagged() const;
  // The plan for arguments of these shapes, made now if it is new; or, if the
  // function branches, loops or calls, the executor. Throws
  // Error(kUnsupported) where it is the other. It is good until arguments of
  // other shapes come.
  Plan& plan_for(std::span<const Tensor> arguments);
  TaggedExecutor& tagged_for(std::span<const Tensor> arguments);
  // What the search found for these shapes; null where none was wanted. It is
  // good as long as plan_for()'s plan.
  const OptimizeReport* optimize_report_for(std::span<const Tensor> arguments);
  // The types of the results for arguments of these shapes.
  std::vector<TensorType> result_types(std::span<const Tensor> arguments);

 private:
  struct State;
  std::vector<Tensor> destinations(std::span<const Tensor> arguments);

  std::unique_ptr<State> state_;
};

}  // namespace weft
