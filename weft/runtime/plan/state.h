// What a plan is made of: its steps, ready to run, and where their operands are
// in memory. plan.cpp runs it, and prepare.cpp makes it of a function.
//
// Threads: as plan.h says.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "weft/base/profile.h"
#include "weft/compiler/places.h"
#include "weft/compiler/readers.h"
#include "weft/compiler/recompute.h"
#include "weft/compiler/steps.h"
#include "weft/graph/index_check.h"
#include "weft/graph/kernel.h"
#include "weft/runtime/plan/plan.h"

namespace weft {

// A step, ready to run.
struct PlannedStep {
  std::unique_ptr<PreparedKernel> kernel;
  std::vector<Place> input_places;
  std::vector<Place> output_places;
  std::vector<void*> inputs;
  std::vector<void*> outputs;
  const Node* node = nullptr;  // its last one
  std::vector<TensorType> output_types;
  std::vector<std::size_t> results;      // that it writes
  std::vector<std::size_t> first_reads;  // arguments that no step read before
  std::optional<IndexCheck> index_check;
  bool meets_other_ranks = false;
  bool is_host = false;
  // What StepKernel::overwrites says.
  std::vector<std::pair<std::size_t, std::size_t>> overwrites;
};

// An argument that holds indices of a step.
struct IndexedArgument {
  std::size_t argument;
  IndexCheck check;
  const PlannedStep* step;
};

struct Plan::State {
  explicit State(Function f) : function(std::move(f)) {}

  // Making it (prepare.cpp).
  void prepare(const PlanOptions& options);
  std::vector<PlanStep> form(const PlanOptions& options);
  void keep_within(std::size_t limit, std::vector<PlanStep>& formed,
                   const PlanOptions& options);
  void note_uncopied(const Storage& storage);
  void prepare_steps(const std::vector<PlanStep>& formed);
  void prepare_step(const Readers& readers, const PlanStep& step);
  bool can_overwrite(const PlanStep& step, std::size_t index,
                     const std::vector<std::size_t>& inputs,
                     std::size_t output) const;
  void take_places(const std::vector<PlanStep>& formed, const Places& places);
  void note_index_check(const PlannedStep& step, ValueId indices,
                        const Places& places);

  // Running it (plan.cpp).
  void begin_run(std::span<void* const> arguments,
                 std::span<void* const> results, std::byte* arena);
  void require_network() const;
  void resolve(std::span<void* const> arguments, std::span<void* const> results,
               std::byte* arena);
  void* address(const Place& place, std::span<void* const> arguments,
                std::span<void* const> results, std::byte* arena) const;
  void run_step(PlannedStep& step, void* scratch) const;
  void check(const PlannedStep& step) const;
  void check_indices(const PlannedStep& step, const IndexCheck& check,
                     const void* indices) const;
  void say_where(Error& error, const PlannedStep& step) const;
  void begin_profile();
  void copy_results(std::span<void* const> arguments,
                    std::span<void* const> results, std::byte* arena,
                    RunObserver* observer) const;

  Function function;
  std::vector<PlannedStep> steps;
  std::vector<StepInfo> infos;
  std::vector<TensorType> result_types;
  UncopiedNodes uncopied;
  std::optional<RecomputeReport> recomputed;
  // Where things are in memory: what of `Places` a run reads.
  std::vector<Tensor> constants;
  std::vector<ResultCopy> copies;
  std::vector<std::size_t> only_copied;  // arguments that no step reads
  std::vector<std::size_t> buffer_offsets;
  std::size_t buffer_bytes = 0;
  std::size_t unshared_bytes = 0;
  std::size_t scratch_bytes = 0;
  std::vector<IndexedArgument> indexed_by_arguments;
  bool check_numerics = false;
  std::vector<SpanKindRef> span_kinds;  // one per step, once it was profiled
};

}  // namespace weft
