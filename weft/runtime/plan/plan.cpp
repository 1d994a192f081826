#include "weft/runtime/plan/plan.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>

#include "weft/base/profile.h"
#include "weft/base/stopwatch.h"
#include "weft/compiler/chunks.h"
#include "weft/compiler/cost_table.h"
#include "weft/compiler/index_sources.h"
#include "weft/compiler/pass.h"
#include "weft/compiler/places.h"
#include "weft/compiler/recompute.h"
#include "weft/compiler/steps.h"
#include "weft/graph/collectives.h"
#include "weft/graph/text.h"
#include "weft/runtime/plan/first_bad.h"
#include "weft/runtime/plan/step_kernel.h"

namespace weft {
namespace {

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

// How much of its arena a run has asked for; nothing once it is over.
const SpanKindRef& arena_quantity() {
  static const SpanKindRef kind = span_kind({"arena", "memory"});
  return kind;
}

}  // namespace

struct Plan::State {
  explicit State(Function f) : function(std::move(f)) {}

  void prepare(const PlanOptions& options);
  void keep_within(std::size_t limit, std::vector<PlanStep>& formed,
                   const PlanOptions& options);
  void prepare_steps(const std::vector<PlanStep>& formed);
  void prepare_step(const Readers& readers, const PlanStep& step);
  bool can_overwrite(const PlanStep& step, std::size_t index,
                     const std::vector<std::size_t>& inputs,
                     std::size_t output) const;
  void note_uncopied(const Storage& storage);
  void resolve(std::span<void* const> arguments, std::span<void* const> results,
               std::byte* arena);
  void* address(const Place& place, std::span<void* const> arguments,
                std::span<void* const> results, std::byte* arena) const;
  void require_network() const;
  void run_step(PlannedStep& step, void* scratch) const {
    step.kernel->run({step.inputs.data(), step.outputs.data(), scratch});
    if (step.meets_other_ranks) current_collectives()->throw_failure();
    if (step.is_host) throw_host_failure();
  }
  void check(const PlannedStep& step) const;
  void say_where(Error& error, const PlannedStep& step) const;
  void note_index_check(const PlannedStep& step, ValueId indices,
                        const Places& places);
  void check_indices(const PlannedStep& step, const IndexCheck& check,
                     const void* indices) const;
  void begin_profile();
  void begin_run(std::span<void* const> arguments,
                 std::span<void* const> results, std::byte* arena);
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

Plan::Plan(const Function& function, const PlanOptions& options)
    // Without fusion every op keeps the bits that it has eagerly, so nothing
    // may be reassociated either.
    : state_(std::make_unique<State>(
          run_passes(in_form(function, options.batch_norm),
                     {options.fuse,
                      passes_without(options.without, options.batch_norm)}))) {
  state_->prepare(options);
}

Plan::~Plan() = default;
Plan::Plan(Plan&&) noexcept = default;

std::size_t Plan::arena_bytes() const {
  return state_->buffer_bytes + state_->scratch_bytes;
}
std::size_t Plan::buffer_bytes() const { return state_->buffer_bytes; }
std::size_t Plan::unshared_bytes() const { return state_->unshared_bytes; }
const std::vector<StepInfo>& Plan::steps() const { return state_->infos; }
const UncopiedNodes& Plan::uncopied() const { return state_->uncopied; }
const RecomputeReport* Plan::recomputed() const {
  return state_->recomputed ? &*state_->recomputed : nullptr;
}
const std::vector<TensorType>& Plan::result_types() const {
  return state_->result_types;
}

void Plan::State::prepare(const PlanOptions& options) {
  check_numerics = options.check_numerics;
  // Fused ops keep no values of their own, in which a NaN could be looked for.
  const bool fuse = options.fuse && !options.check_numerics;
  std::vector<PlanStep> formed = form_steps(function, fuse);
  if (options.memory_limit) {
    keep_within(*options.memory_limit, formed, options);
  } else if (fuse) {
    formed = chunk_steps(function, std::move(formed), options.batch_norm);
  }
  std::vector<ValueId> overwritten;
  for (const auto& [parameter, result] : options.donated) {
    overwritten.push_back(function.parameters()[parameter]);
  }
  const Storage storage(function, formed, overwritten);
  note_uncopied(storage);
  prepare_steps(formed);
  std::vector<StepReads> reads = reads_of(function, formed);
  for (std::size_t i = 0; i < infos.size(); ++i) {
    infos[i].reads = std::move(reads[i]);
  }
  for (const ValueId id : function.results()) {
    result_types.push_back(function.type(id));
  }
  const Places places(
      function, formed, storage, options.donated,
      [&](std::size_t step, const std::vector<std::size_t>& inputs,
          std::size_t output) {
        return can_overwrite(formed[step], step, inputs, output);
      });
  constants = places.constants();
  copies = places.copies();
  buffer_offsets = places.buffer_offsets();
  buffer_bytes = places.arena_bytes();
  unshared_bytes = places.unshared_bytes();
  std::set<std::size_t> are_read;
  for (std::size_t i = 0; i < formed.size(); ++i) {
    for (const ValueId id : formed[i].inputs) {
      const Place place = places.of(id);
      steps[i].input_places.push_back(place);
      if (place.kind == Place::kArgument &&
          are_read.insert(place.index).second) {
        steps[i].first_reads.push_back(place.index);
      }
    }
    for (const ValueId id : formed[i].outputs) {
      steps[i].output_places.push_back(places.of(id));
    }
    steps[i].inputs.resize(formed[i].inputs.size());
    steps[i].outputs.resize(formed[i].outputs.size());
    if (!steps[i].index_check) continue;
    note_index_check(steps[i], formed[i].inputs[steps[i].index_check->input()],
                     places);
  }
  for (const ResultCopy& copy : copies) {
    if (copy.from.kind == Place::kArgument &&
        are_read.insert(copy.from.index).second) {
      only_copied.push_back(copy.from.index);
    }
  }
  // A result is ready when its last writer has run: an observer is told then.
  const std::vector<std::size_t>& writers = places.last_writers();
  for (std::size_t j = 0; j < writers.size(); ++j) {
    if (writers[j] < steps.size()) steps[writers[j]].results.push_back(j);
  }
}

// Puts other steps in the place of those that were formed, and the function
// that they are of.
void Plan::State::keep_within(std::size_t limit, std::vector<PlanStep>& formed,
                              const PlanOptions& options) {
  // Kernels say what may be overwritten, and what they take beside it. Those of
  // the steps that come out are prepared by themselves.
  prepare_steps(formed);
  std::optional<CostTable> table;
  const auto seconds = [&](std::size_t step) {
    if (!table) table = CostTable::of_machine();
    // What a step reads a second time was last touched long ago.
    return table
        ->cost(function, formed[step],
               std::vector<OperandState>(formed[step].inputs.size(),
                                         {.is_cold = true}))
        .seconds;
  };
  auto found = recompute(
      function, formed,
      {.limit = limit,
       .scratch = scratch_bytes,
       .donated = options.donated,
       .can_overwrite =
           [&](std::size_t step, const std::vector<std::size_t>& inputs,
               std::size_t output) {
             return can_overwrite(formed[step], step, inputs, output);
           },
       .seconds = seconds});
  steps.clear();
  infos.clear();
  scratch_bytes = 0;
  if (!found) return;
  if (table) {
    if (!table->complaint().empty()) {
      fmt::print(stderr, "weft: step times: {}\n", table->complaint());
    }
    table->keep();
  }
  function = std::move(found->steps.function);
  formed = std::move(found->steps.steps);
  recomputed = std::move(found->report);
}

void Plan::State::note_uncopied(const Storage& storage) {
  for (const NodeId id : storage.uncopied()) {
    uncopied.texts.push_back(to_string(function, function.node(id)));
  }
  uncopied.bytes = storage.uncopied_bytes();
}

void Plan::State::prepare_steps(const std::vector<PlanStep>& formed) {
  const Readers readers(function);
  for (const PlanStep& step : formed) prepare_step(readers, step);
}

void Plan::State::prepare_step(const Readers& readers, const PlanStep& step) {
  StepKernel prepared = prepare_kernel(function, readers, step);
  PlannedStep planned;
  // The last node is the one whose result leaves the step; errors name it.
  planned.node = &function.node(step.nodes.back());
  for (const ValueId id : step.outputs) {
    planned.output_types.push_back(function.type(id));
  }
  if (step.nodes.size() == 1) {
    planned.meets_other_ranks =
        meets_other_ranks(*planned.node->op, planned.node->attributes);
    planned.is_host = planned.node->op->has(kHost);
  }
  planned.index_check = std::move(prepared.index_check);
  planned.overwrites = std::move(prepared.overwrites);
  planned.kernel = std::move(prepared.kernel);
  // Steps run one after the other, and none leaves anything in its scratch.
  scratch_bytes = std::max(scratch_bytes, planned.kernel->scratch_bytes());
  steps.push_back(std::move(planned));
  infos.push_back(std::move(prepared.info));
}

// Whether the kernel of a step may write an output over these inputs.
bool Plan::State::can_overwrite(const PlanStep& step, std::size_t index,
                                const std::vector<std::size_t>& inputs,
                                std::size_t output) const {
  if (!step.loop) {
    // Another operand with the same bytes would see what was written.
    return inputs.size() == 1 &&
           std::ranges::find(steps[index].overwrites,
                             std::pair(inputs[0], output)) !=
               steps[index].overwrites.end();
  }
  const auto& kernel = static_cast<const LoopKernel&>(*steps[index].kernel);
  // The same value may enter a loop in several ways, also broadcast.
  return std::all_of(inputs.begin(), inputs.end(), [&](std::size_t input) {
    return kernel.can_overwrite(step.loop_inputs[input], output);
  });
}

// Addresses are looked up at every run, because arguments, results and the
// arena are the caller's; a step then has plain pointers.
void* Plan::State::address(const Place& place, std::span<void* const> arguments,
                           std::span<void* const> results,
                           std::byte* arena) const {
  const auto within = [&](void* base) {
    return static_cast<std::byte*>(base) + place.offset;
  };
  switch (place.kind) {
    case Place::kArgument:
      return within(arguments[place.index]);
    case Place::kResult:
      return within(results[place.index]);
    case Place::kConstant:
      return within(constants[place.index].raw());
    case Place::kArena:
      return within(arena + buffer_offsets[place.index]);
    case Place::kNone:
      break;
  }
  return nullptr;
}

void Plan::State::resolve(std::span<void* const> arguments,
                          std::span<void* const> results, std::byte* arena) {
  for (PlannedStep& step : steps) {
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      step.inputs[i] = address(step.input_places[i], arguments, results, arena);
    }
    for (std::size_t i = 0; i < step.outputs.size(); ++i) {
      step.outputs[i] =
          address(step.output_places[i], arguments, results, arena);
    }
  }
}

// This is asked before the first step: ranks that have begun would wait for
// this one.
void Plan::State::require_network() const {
  for (const PlannedStep& step : steps) {
    if (!step.meets_other_ranks) continue;
    try {
      require_collectives(*step.node->op, step.node->attributes);
    } catch (Error& error) {
      error.detail("node: " + to_string(function, *step.node));
      throw;
    }
  }
}

void Plan::State::check(const PlannedStep& step) const {
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    const std::int64_t bad = first_bad(step.output_types[i], step.outputs[i]);
    if (bad < 0) continue;
    Error error(ErrorCode::kNumeric, step.node->op->name(),
                "NaN or infinity first appears here, at element {} of {}", bad,
                to_string(step.output_types[i]));
    say_where(error, step);
    throw error;
  }
}

void Plan::State::say_where(Error& error, const PlannedStep& step) const {
  const Location& location = step.node->location;
  error.detail("node: " + to_string(function, *step.node));
  if (location.is_known()) {
    error.detail("built at: " + to_string(location));
  } else if (!location.scope.empty()) {
    error.detail("in layer: " + location.scope);
  }
}

// Indices that are constants are looked at here, once; arguments at the begin
// of each run, before anything is overwritten. Those that steps compute are
// left to check_numerics.
void Plan::State::note_index_check(const PlannedStep& step, ValueId indices,
                                   const Places& places) {
  const IndexCheck& check = *step.index_check;
  for (const IndexSource& source :
       index_sources(function, indices, check.axis_count())) {
    const IndexCheck of_source =
        check.of_axes(source.first, source.count, source.type);
    const Place from = places.of(source.value);
    if (function.is_parameter(source.value)) {
      indexed_by_arguments.push_back({from.index, of_source, &step});
    } else {
      of_source(constants[from.index].raw());
    }
  }
}

void Plan::State::check_indices(const PlannedStep& step,
                                const IndexCheck& check,
                                const void* indices) const {
  try {
    check(indices);
  } catch (Error& error) {
    say_where(error, step);
    throw;
  }
}

// Steps are described when somebody first looks.
void Plan::State::begin_profile() {
  if (span_kinds.empty()) {
    for (const StepInfo& info : infos) {
      span_kinds.push_back(span_kind({info.name, "kernel", info.kernel,
                                      info.cost.flops, info.cost.bytes}));
    }
  }
  static const SpanKindRef held = span_kind({"held by tensors", "memory"});
  profile::record_quantity(held, static_cast<double>(live_bytes()));
  profile::record_quantity(arena_quantity(),
                           static_cast<double>(buffer_bytes + scratch_bytes));
}

void Plan::State::begin_run(std::span<void* const> arguments,
                            std::span<void* const> results, std::byte* arena) {
  require_network();
  resolve(arguments, results, arena);
  for (const auto& [argument, check, step] : indexed_by_arguments) {
    check_indices(*step, check, arguments[argument]);
  }
}

// Results that no step writes; the observer learns of them here.
void Plan::State::copy_results(std::span<void* const> arguments,
                               std::span<void* const> results, std::byte* arena,
                               RunObserver* observer) const {
  if (observer != nullptr) {
    for (const std::size_t argument : only_copied) {
      observer->before_argument(argument);
    }
  }
  for (const ResultCopy& copy : copies) {
    const void* from = address(copy.from, arguments, results, arena);
    // A result that is a donated argument itself may be in its place.
    if (from != results[copy.result]) {
      std::memcpy(results[copy.result], from, copy.bytes);
    }
    if (observer != nullptr) observer->on_result(copy.result);
  }
}

void Plan::run(std::span<void* const> arguments, std::span<void* const> results,
               void* arena, RunObserver* observer) {
  State& state = *state_;
  auto* base = static_cast<std::byte*>(arena);
  state.begin_run(arguments, results, base);
  // The size of the arena is a multiple of kAlignment, and so aligned behind
  // it.
  void* scratch = base + state.buffer_bytes;
  const bool is_profiled = profile::is_on();
  if (is_profiled) state.begin_profile();
  for (std::size_t i = 0; i < state.steps.size(); ++i) {
    PlannedStep& step = state.steps[i];
    if (state.check_numerics && step.index_check) {
      state.check_indices(step, *step.index_check,
                          step.inputs[step.index_check->input()]);
    }
    if (observer != nullptr) {
      for (const std::size_t argument : step.first_reads) {
        observer->before_argument(argument);
      }
    }
    if (is_profiled) {
      const ProfiledSpan span(state.span_kinds[i]);
      state.run_step(step, scratch);
    } else {
      state.run_step(step, scratch);
    }
    // Each step is looked at as it ends, so that the first op that gave a NaN
    // is the one that is named.
    if (state.check_numerics) state.check(step);
    if (observer == nullptr) continue;
    // Each step knows its results, so that an exchange can begin while later
    // steps run.
    for (const std::size_t result : step.results) observer->on_result(result);
  }
  state.copy_results(arguments, results, base, observer);
  if (is_profiled) profile::record_quantity(arena_quantity(), 0);
}

void Plan::run_timed(std::span<void* const> arguments,
                     std::span<void* const> results, void* arena,
                     std::span<double> seconds) {
  State& state = *state_;
  auto* base = static_cast<std::byte*>(arena);
  state.begin_run(arguments, results, base);
  void* scratch = base + state.buffer_bytes;
  for (std::size_t i = 0; i < state.steps.size(); ++i) {
    const Stopwatch watch;
    state.run_step(state.steps[i], scratch);
    seconds[i] += watch.seconds();
  }
  state.copy_results(arguments, results, base, nullptr);
}

}  // namespace weft
