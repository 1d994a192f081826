#include "weft/runtime/plan.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "weft/base/stopwatch.h"
#include "weft/graph/collectives.h"
#include "weft/graph/index_check.h"
#include "weft/graph/kernel_times.h"
#include "weft/graph/text.h"
#include "weft/runtime/fuse_epilogue.h"
#include "weft/runtime/index_sources.h"
#include "weft/runtime/memory_plan.h"
#include "weft/runtime/simplify.h"
#include "weft/runtime/steps.h"

namespace weft {
namespace {

// Where the bytes of a value are during a run.
struct Place {
  enum Kind { kNone, kArgument, kResult, kConstant, kArena } kind = kNone;
  std::size_t index = 0;  // argument, result, constant or arena buffer
};

struct Copy {
  Place from;
  std::size_t result;
  std::size_t bytes;
};

// A step, ready to run.
struct PlannedStep {
  std::unique_ptr<PreparedKernel> kernel;
  std::vector<Place> input_places;
  std::vector<Place> output_places;
  std::vector<void*> inputs;
  std::vector<void*> outputs;
  const Node* node = nullptr;  // its last one
  std::vector<TensorType> output_types;
  std::vector<std::size_t> results;  // that it writes
  std::optional<IndexCheck> index_check;
  bool meets_other_ranks = false;
  bool is_host = false;
  bool in_place = false;  // what KernelCandidate::in_place says
};

// An argument that holds indices of a step.
struct IndexedArgument {
  std::size_t argument;
  IndexCheck check;
  const PlannedStep* step;
};

Cost cost_of(const Function& function, const Node& node) {
  if (node.op->cost() == nullptr) return {};
  const auto inputs = function.input_types(node);
  const auto outputs = function.output_types(node);
  return node.op->cost()({*node.op, inputs, node.attributes, outputs});
}

// Index of the first NaN or infinity, or -1.
std::int64_t first_bad(const TensorType& type, const void* data) {
  // Integers and flags are always numbers.
  if (!is_floating(type.dtype)) return -1;
  return dispatch(type.dtype, [&]<class T>(T) -> std::int64_t {
    const T* values = static_cast<const T*>(data);
    const std::int64_t size = type.shape.num_elements();
    for (std::int64_t i = 0; i < size; ++i) {
      double value = 0;
      if constexpr (std::is_class_v<T>)
        // The 16-bit floats convert to float alone.
        value = static_cast<float>(values[i]);
      else
        value = static_cast<double>(values[i]);
      if (!std::isfinite(value)) return i;
    }
    return -1;
  });
}

}  // namespace

struct Plan::State {
  explicit State(Function f) : function(std::move(f)) {}

  void prepare(const PlanOptions& options);
  void prepare_step(const Step& step);
  void place_values(const std::vector<Step>& steps, const PlanOptions& options);
  void place_donated(const std::vector<Step>& steps,
                     const PlanOptions& options);
  void place_results(const PlanOptions& options);
  void place_in_arena(const std::vector<Step>& steps);
  bool can_overwrite(const std::vector<Step>& steps, std::size_t step,
                     ValueId input, ValueId output) const;
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
  void note_index_check(const PlannedStep& step, ValueId indices);
  void check_indices(const PlannedStep& step, const IndexCheck& check,
                     const void* indices) const;
  void begin_run(std::span<void* const> arguments,
                 std::span<void* const> results, std::byte* arena);
  void copy_results(std::span<void* const> arguments,
                    std::span<void* const> results, std::byte* arena,
                    ResultObserver* observer) const;
  Place& place(ValueId id) { return places[static_cast<std::size_t>(id)]; }
  ValueId storage(ValueId id) const { return storage_of(function, id); }

  Function function;
  std::vector<PlannedStep> steps;
  std::vector<StepInfo> infos;
  std::vector<TensorType> result_types;
  std::vector<Place> places;            // by value; of storage values
  std::vector<std::size_t> first_step;  // by value
  std::vector<std::size_t> last_step;   // by value
  std::vector<Tensor> constants;
  std::vector<Copy> copies;  // results that nothing could write
  std::vector<IndexedArgument> indexed_by_arguments;
  std::vector<Lifetime> buffers;
  MemoryPlan memory;
  std::size_t scratch_bytes = 0;
  std::size_t unshared_bytes = 0;
  bool check_numerics = false;
};

Plan::Plan(const Function& function, const PlanOptions& options)
    // Without fusion every op keeps the bits that it has eagerly, so nothing
    // may be reassociated either.
    : state_(std::make_unique<State>(options.fuse
                                         ? fuse_epilogues(simplify(function))
                                         : simplify(function, false))) {
  state_->prepare(options);
}

Plan::~Plan() = default;
Plan::Plan(Plan&&) noexcept = default;

std::size_t Plan::arena_bytes() const {
  return state_->memory.arena_bytes + state_->scratch_bytes;
}
std::size_t Plan::unshared_bytes() const { return state_->unshared_bytes; }
const std::vector<StepInfo>& Plan::steps() const { return state_->infos; }
const std::vector<TensorType>& Plan::result_types() const {
  return state_->result_types;
}

void Plan::State::prepare(const PlanOptions& options) {
  check_numerics = options.check_numerics;
  const std::vector<Step> formed =
      form_steps(function, options.fuse && !options.check_numerics);
  for (const Step& step : formed) prepare_step(step);
  for (const ValueId id : function.results()) {
    result_types.push_back(function.type(id));
  }
  place_values(formed, options);
  for (std::size_t i = 0; i < formed.size(); ++i) {
    for (const ValueId id : formed[i].inputs) {
      // An operand may be a view, which has no place of its own; what a step
      // writes never is one.
      steps[i].input_places.push_back(place(storage(id)));
    }
    for (const ValueId id : formed[i].outputs) {
      steps[i].output_places.push_back(place(id));
      if (place(id).kind == Place::kResult) {
        steps[i].results.push_back(place(id).index);
      }
    }
    steps[i].inputs.resize(formed[i].inputs.size());
    steps[i].outputs.resize(formed[i].outputs.size());
    if (!steps[i].index_check) continue;
    note_index_check(steps[i], formed[i].inputs[steps[i].index_check->input()]);
  }
}

void Plan::State::prepare_step(const Step& step) {
  PlannedStep planned;
  StepInfo info;
  // The last node is the one whose result leaves the step; errors name it.
  planned.node = &function.node(step.nodes.back());
  for (const ValueId id : step.outputs) {
    planned.output_types.push_back(function.type(id));
  }
  for (const NodeId id : step.nodes) {
    const Node& node = function.node(id);
    info.text += (info.text.empty() ? "" : "\n") + to_string(function, node);
    info.name += (info.name.empty() ? "" : ", ") + node.op->name();
    info.cost.flops += cost_of(function, node).flops;
  }
  if (step.loop) {
    // Only what enters and leaves a loop moves through memory; counting every
    // op would make fusion look useless.
    info.name = "loop(" + info.name + ")";
    for (const ValueId id : step.inputs) {
      info.cost.bytes += static_cast<double>(function.type(id).bytes());
    }
    for (const ValueId id : step.outputs) {
      info.cost.bytes += static_cast<double>(function.type(id).bytes());
    }
    auto kernel = std::make_unique<LoopKernel>(*step.loop);
    info.kernel = kernel->is_generated() ? "loop:generated" : "loop:tiles";
    planned.kernel = std::move(kernel);
  } else {
    const Node& node = *planned.node;
    planned.meets_other_ranks = meets_other_ranks(*node.op, node.attributes);
    planned.is_host = node.op->has(kHost);
    const auto inputs = function.input_types(node);
    const OpCall call{*node.op, inputs, node.attributes, planned.output_types};
    KernelChoice choice = choose_fastest_kernel(call);
    planned.index_check = IndexCheck::of(call);
    info.kernel = choice.description();
    info.declined = std::move(choice.declined);
    info.times = std::move(choice.times);
    info.cost = cost_of(function, node);
    planned.kernel = std::move(choice.kernel);
    planned.in_place = choice.in_place;
  }
  // Steps run one after the other, and none leaves anything in its scratch.
  scratch_bytes = std::max(scratch_bytes, planned.kernel->scratch_bytes());
  steps.push_back(std::move(planned));
  infos.push_back(std::move(info));
}

void Plan::State::place_values(const std::vector<Step>& formed,
                               const PlanOptions& options) {
  // The order below is that of need: arguments and constants are where they
  // are, a donated result has one place that saves a copy, another result has
  // memory of the caller, and everything else may be anywhere in the arena.
  places.resize(function.value_count());
  first_step.assign(function.value_count(), 0);
  last_step.assign(function.value_count(), 0);
  for (std::size_t i = 0; i < function.parameters().size(); ++i) {
    place(function.parameters()[i]) = {Place::kArgument, i};
  }
  // The plan holds on to the tensors of constants, which steps read where they
  // lie.
  for (const Node& node : function.nodes()) {
    if (node.op->name() != "constant") continue;
    place(node.outputs[0]) = {Place::kConstant, constants.size()};
    constants.push_back(node.attributes.get<Tensor>("value"));
  }
  for (std::size_t i = 0; i < formed.size(); ++i) {
    for (const ValueId id : formed[i].outputs) {
      first_step[static_cast<std::size_t>(id)] = i;
      last_step[static_cast<std::size_t>(id)] = i;
    }
    for (const ValueId id : formed[i].inputs) {
      // Who reads a view reads the bytes of what it is a view of.
      last_step[static_cast<std::size_t>(storage(id))] = i;
    }
  }
  place_donated(formed, options);
  place_results(options);
  place_in_arena(formed);
}

bool Plan::State::can_overwrite(const std::vector<Step>& formed,
                                std::size_t index, ValueId input,
                                ValueId output) const {
  const Step& step = formed[index];
  if (!step.loop) {
    const auto reads = [&](ValueId id) { return storage(id) == input; };
    // A kernel promises this for its first operand and its first result. A
    // second operand with the same bytes would see what was written.
    return steps[index].in_place && output == step.outputs[0] &&
           reads(step.inputs[0]) &&
           std::count_if(step.inputs.begin(), step.inputs.end(), reads) == 1;
  }
  const auto* kernel =
      static_cast<const LoopKernel*>(steps[index].kernel.get());
  const auto target = static_cast<std::size_t>(
      std::find(step.outputs.begin(), step.outputs.end(), output) -
      step.outputs.begin());
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    if (storage(step.inputs[i]) != input) continue;
    // The same value may enter a loop in several ways, also broadcast.
    if (!kernel->can_overwrite(step.loop_inputs[i], target)) return false;
  }
  return true;
}

// A donated argument becomes the place of its result if nobody reads the old
// value any more when the new one is written.
void Plan::State::place_donated(const std::vector<Step>& formed,
                                const PlanOptions& options) {
  for (const auto& [parameter, result] : options.donated) {
    const ValueId old = function.parameters()[parameter];
    const ValueId value = storage(function.results()[result]);
    // It is a parameter or a constant, or the result of an earlier pair.
    if (place(value).kind != Place::kNone) continue;
    const auto last = last_step[static_cast<std::size_t>(old)];
    const auto written = first_step[static_cast<std::size_t>(value)];
    // A second argument may be donated to a result of the same step.
    if (last < written ||
        (last == written && can_overwrite(formed, written, old, value))) {
      place(value) = {Place::kArgument, parameter};
    }
  }
}

// A result is written in place where that is possible, else copied at the end
// of the run. A donated result's place is its argument's, which may still be
// read when the result is computed: such a one waits in the arena.
void Plan::State::place_results(const PlanOptions& options) {
  std::map<std::size_t, std::size_t> donor;        // result -> argument
  std::map<std::size_t, std::size_t> overwritten;  // argument -> result
  for (const auto& [parameter, result] : options.donated) {
    donor[result] = parameter;
    overwritten[parameter] = result;
  }
  for (std::size_t j = 0; j < function.results().size(); ++j) {
    const ValueId value = storage(function.results()[j]);
    const std::size_t bytes = function.type(value).bytes();
    Place& current = place(value);
    if (current.kind == Place::kNone && donor.contains(j)) {
      current = {Place::kArena, buffers.size()};
      buffers.push_back(
          // The copy is made when all steps have run, so the buffer lives until
          // then.
          {bytes, first_step[static_cast<std::size_t>(value)], steps.size()});
    }
    if (current.kind == Place::kNone) {
      current = {Place::kResult, j};
      continue;
    }
    if (function.is_parameter(value) && overwritten.contains(current.index) &&
        overwritten.at(current.index) != j) {
      throw Error(ErrorCode::kUnsupported, "@" + function.name(),
                  "the result {} is the parameter '{}', whose memory was "
                  "donated to another result",
                  j, function.value(value).name)
          .hint("do not donate that parameter");
    }
    copies.push_back({current, j, bytes});
  }
}

void Plan::State::place_in_arena(const std::vector<Step>& formed) {
  for (std::size_t i = 0; i < formed.size(); ++i) {
    for (const ValueId id : formed[i].outputs) {
      const auto index = static_cast<std::size_t>(id);
      const std::size_t bytes = function.type(id).bytes();
      if (places[index].kind != Place::kNone) continue;
      unshared_bytes += bytes;
      for (const ValueId input : formed[i].inputs) {
        const ValueId source = storage(input);
        const Place candidate = place(source);
        // The operand dies here: its bytes may become the result's.
        if (candidate.kind == Place::kArena &&
            buffers[candidate.index].last == i &&
            buffers[candidate.index].bytes == bytes &&
            can_overwrite(formed, i, source, id)) {
          places[index] = candidate;
          buffers[candidate.index].last = last_step[index];
          break;
        }
      }
      if (places[index].kind != Place::kNone) continue;
      places[index] = {Place::kArena, buffers.size()};
      buffers.push_back({bytes, i, last_step[index]});
    }
  }
  memory = plan_memory(buffers);
}

// Addresses are looked up at every run, because arguments, results and the
// arena are the caller's; a step then has plain pointers.
void* Plan::State::address(const Place& place, std::span<void* const> arguments,
                           std::span<void* const> results,
                           std::byte* arena) const {
  switch (place.kind) {
    case Place::kArgument:
      return arguments[place.index];
    case Place::kResult:
      return results[place.index];
    case Place::kConstant:
      return constants[place.index].raw();
    case Place::kArena:
      return arena + memory.offsets[place.index];
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

// Before the first step: ranks that have begun would wait for this one.
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
void Plan::State::note_index_check(const PlannedStep& step, ValueId indices) {
  const IndexCheck& check = *step.index_check;
  for (const IndexSource& source :
       index_sources(function, indices, check.axis_count())) {
    const IndexCheck of_source =
        check.of_axes(source.first, source.count, source.type);
    const Place& from = place(source.value);
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
                               ResultObserver* observer) const {
  for (const Copy& copy : copies) {
    const void* from = address(copy.from, arguments, results, arena);
    // A result that is a donated argument itself may be in its place.
    if (from != results[copy.result]) {
      std::memcpy(results[copy.result], from, copy.bytes);
    }
    if (observer != nullptr) observer->on_result(copy.result);
  }
}

void Plan::run(std::span<void* const> arguments, std::span<void* const> results,
               void* arena, ResultObserver* observer) {
  State& state = *state_;
  auto* base = static_cast<std::byte*>(arena);
  state.begin_run(arguments, results, base);
  // The size of the arena is a multiple of kAlignment, and so aligned behind
  // it.
  void* scratch = base + state.memory.arena_bytes;
  for (PlannedStep& step : state.steps) {
    if (state.check_numerics && step.index_check) {
      state.check_indices(step, *step.index_check,
                          step.inputs[step.index_check->input()]);
    }
    state.run_step(step, scratch);
    // Each step is looked at as it ends, so that the first op that gave a NaN
    // is the one that is named.
    if (state.check_numerics) state.check(step);
    if (observer == nullptr) continue;
    // Each step knows its results, so that an exchange can begin while later
    // steps run.
    for (const std::size_t result : step.results) observer->on_result(result);
  }
  state.copy_results(arguments, results, base, observer);
}

void Plan::run_timed(std::span<void* const> arguments,
                     std::span<void* const> results, void* arena,
                     std::span<double> seconds) {
  State& state = *state_;
  auto* base = static_cast<std::byte*>(arena);
  state.begin_run(arguments, results, base);
  void* scratch = base + state.memory.arena_bytes;
  for (std::size_t i = 0; i < state.steps.size(); ++i) {
    const Stopwatch watch;
    state.run_step(state.steps[i], scratch);
    seconds[i] += watch.seconds();
  }
  state.copy_results(arguments, results, base, nullptr);
}

}  // namespace weft
