// A plan is prepared: a function's nodes become steps, steps get kernels, and
// values get places.
#include <algorithm>
#include <set>

#include "weft/compiler/chunks.h"
#include "weft/compiler/cost_table.h"
#include "weft/compiler/index_sources.h"
#include "weft/graph/text.h"
#include "weft/runtime/plan/state.h"
#include "weft/runtime/plan/step_kernel.h"

namespace weft {

void Plan::State::prepare(const PlanOptions& options) {
  check_numerics = options.check_numerics;
  std::vector<PlanStep> formed = form(options);
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
  take_places(
      formed,
      Places(function, formed, storage, options.donated,
             [&](std::size_t step, const std::vector<std::size_t>& inputs,
                 std::size_t output) {
               return can_overwrite(formed[step], step, inputs, output);
             }));
}

std::vector<PlanStep> Plan::State::form(const PlanOptions& options) {
  // Fused ops keep no values of their own, in which a NaN could be looked for.
  const bool fuse = options.fuse && !options.check_numerics;
  std::vector<PlanStep> formed = form_steps(function, fuse);
  if (options.memory_limit) {
    keep_within(*options.memory_limit, formed, options);
  } else if (fuse) {
    formed = chunk_steps(function, std::move(formed), options.batch_norm);
  }
  return formed;
}

void Plan::State::take_places(const std::vector<PlanStep>& formed,
                              const Places& places) {
  constants = places.constants();
  copies = places.copies();
  buffer_offsets = places.buffer_offsets();
  buffer_bytes = places.arena_bytes();
  unshared_bytes = places.unshared_bytes();
  std::set<std::size_t> are_read;  // arguments
  const auto is_first_read = [&](const Place& place) {
    return place.kind == Place::kArgument &&
           are_read.insert(place.index).second;
  };
  for (std::size_t i = 0; i < formed.size(); ++i) {
    PlannedStep& step = steps[i];
    for (const ValueId id : formed[i].inputs) {
      const Place place = places.of(id);
      step.input_places.push_back(place);
      if (is_first_read(place)) step.first_reads.push_back(place.index);
    }
    for (const ValueId id : formed[i].outputs) {
      step.output_places.push_back(places.of(id));
    }
    step.inputs.resize(formed[i].inputs.size());
    step.outputs.resize(formed[i].outputs.size());
    if (!step.index_check) continue;
    note_index_check(step, formed[i].inputs[step.index_check->input()], places);
  }
  for (const ResultCopy& copy : copies) {
    if (is_first_read(copy.from)) only_copied.push_back(copy.from.index);
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

}  // namespace weft
