#include "weft/runtime/plan/plan.h"

#include <cstring>

#include "weft/base/profile.h"
#include "weft/base/stopwatch.h"
#include "weft/compiler/pass.h"
#include "weft/graph/collectives.h"
#include "weft/graph/text.h"
#include "weft/runtime/plan/first_bad.h"
#include "weft/runtime/plan/state.h"

namespace weft {
namespace {

// How much of its arena a run has asked for; nothing once it is over.
const SpanKindRef& arena_quantity() {
  static const SpanKindRef kind = span_kind({"arena", "memory"});
  return kind;
}

}  // namespace

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

void Plan::State::run_step(PlannedStep& step, void* scratch) const {
  step.kernel->run({step.inputs.data(), step.outputs.data(), scratch});
  if (step.meets_other_ranks) current_collectives()->throw_failure();
  if (step.is_host) throw_host_failure();
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
