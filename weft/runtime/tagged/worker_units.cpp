// The units of work of a worker: regions, switches, calls and returns.
#include <algorithm>
#include <cstring>

#include "weft/base/index.h"
#include "weft/base/stopwatch.h"
#include "weft/runtime/tagged/argument_reads.h"
#include "weft/runtime/tagged/worker.h"

namespace weft {

std::uint64_t TaggedWorker::argument_word(std::uint32_t index) const {
  const Tensor& argument = session_.arguments[index];
  std::uint64_t word = 0;
  // A word has 8 bytes, of which a scalar of any dtype takes the first.
  std::memcpy(&word, argument.raw(), argument.bytes());
  return word;
}

std::int32_t TaggedWorker::run_region(Frame* frame, const Work& work) {
  RegionUse& use = counts_.regions[at(work.region)];
  ++use.runs;
  ++use.instances;
  std::optional<Stopwatch> watch;
  if (session_.is_timed) watch.emplace();
  // It is made when the region first runs: a graph may have branches that this
  // run never takes.
  RegionRunner& runner = this->runner(*frame->layout, work);
  std::int32_t begun = 0;
  // Conditions and counters of a recursion are single numbers, for which a plan
  // costs more than the arithmetic.
  if (ScalarProgram* program = runner.scalar()) {
    run_scalars(frame, work, *program);
    for (std::size_t i = work.outputs.size(); i-- > 0;) {
      begun += send(frame, work.outputs[i], program->result(i));
    }
  } else {
    begun = run_plan(frame, work, runner);
  }
  if (watch) use.seconds += watch->seconds();
  return begun;
}

void TaggedWorker::run_scalars(Frame* frame, const Work& work,
                               ScalarProgram& program) {
  const std::span<std::uint64_t> parameters = program.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Input& input = work.inputs[i];
    parameters[i] =
        input.is_argument ? argument_word(input.slot) : frame->word(input.slot);
  }
  program.run();
}

std::int32_t TaggedWorker::run_plan(Frame* frame, const Work& work,
                                    RegionRunner& runner) {
  const Function& function = function_of(work);
  // The addresses of cells are given to the plan, so all of them exist first.
  cells_.resize(
      std::max(cells_.size(), work.inputs.size() + function.results().size()));
  Cell* const results = take_operands(frame, work);
  // The plan adds rows to a total where it lies: it takes the total as a
  // donated operand and gives it back as a result.
  for (const std::size_t result : runner.added()) {
    inputs_.push_back(total_of(frame, work, result).raw());
  }
  // A final region's results have places of their own.
  const bool in_place =
      final_region(work.region) == nullptr && owns_changed(frame, work, runner);
  make_results(frame, work, runner, in_place, results);
  // Whether a table may be overwritten is known for each activation only: there
  // are two plans, of which the second is made when it is first needed.
  Plan& plan = in_place ? runner.plan_in_place() : runner.plan();
  if (misses_arguments(work)) {
    ArgumentReads reads(*this, work);
    plan.run(inputs_, outputs_, arena(plan.arena_bytes()), &reads);
    reads.finish();
  } else {
    plan.run(inputs_, outputs_, arena(plan.arena_bytes()));
  }
  // Operands give their memory back before readers of the results are run.
  for (const Input& input : work.inputs) {
    if (!input.is_argument && !input.is_inline) {
      frame->tensor(input.slot) = {};
    }
  }
  return send_results(frame, work, runner, results);
}

const Function& TaggedWorker::function_of(const Work& work) const {
  return session_.graph.regions[at(work.region)].function;
}

// What the activation has added up for a result of its region.
Tensor& TaggedWorker::total_of(Frame* frame, const Work& work,
                               std::size_t result) const {
  const Function& function = function_of(work);
  return frame->sums->total(
      accumulator_of(*frame->layout, work.outputs[result]),
      function.type(function.results()[result]));
}

// Where operands lie. Returns the first cell that is free.
TaggedWorker::Cell* TaggedWorker::take_operands(Frame* frame,
                                                const Work& work) {
  inputs_.clear();
  Cell* cell = cells_.data();
  for (const Input& input : work.inputs) {
    if (input.is_argument) {
      inputs_.push_back(session_.arguments[input.slot].raw());
    } else if (!input.is_inline) {
      inputs_.push_back(frame->tensor(input.slot).raw());
    } else {
      // A plan relies on aligned operands, and words of a frame lie 8 bytes
      // apart.
      std::memcpy(cell->bytes, frame->at(input.slot), sizeof(std::uint64_t));
      inputs_.push_back(cell++->bytes);
    }
  }
  return cell;
}

// Where results go: words into cells, all others into tensors.
void TaggedWorker::make_results(Frame* frame, const Work& work,
                                RegionRunner& runner, bool in_place,
                                Cell* cell) {
  outputs_.clear();
  made_.clear();
  const Function& function = function_of(work);
  const FinalRegion* last = final_region(work.region);
  for (std::size_t i = 0; i < function.results().size(); ++i) {
    const TensorType& type = function.type(function.results()[i]);
    if (is_inline(type)) {
      outputs_.push_back(cell++->bytes);
    } else if (runner.adds(i)) {
      made_.emplace_back();
      outputs_.push_back(total_of(frame, work, i).raw());
    } else if (const auto table =
                   in_place ? runner.table_of(i) : std::nullopt) {
      // The table is moved on as the result that overwrites it, so that the
      // activation that reads it next owns it alone again.
      const Input& input = work.inputs[*table];
      made_.push_back(frame->tensor(input.slot).take(input.type));
      outputs_.push_back(made_.back().raw());
    } else {
      const int result = last == nullptr ? -1 : last->results[i];
      made_.push_back(result < 0 || session_.destinations.empty()
                          ? Tensor::empty(type)
                          : session_.destinations[at(result)]);
      outputs_.push_back(made_.back().raw());
    }
  }
}

// Cells and tensors were made in the order of the results, each kind by itself,
// and are taken in that order.
std::int32_t TaggedWorker::send_results(Frame* frame, const Work& work,
                                        const RegionRunner& runner,
                                        const Cell* cell) {
  std::int32_t begun = 0;
  std::size_t next = 0;
  for (std::size_t i = 0; i < work.outputs.size(); ++i) {
    const Port& port = work.outputs[i];
    if (port.is_inline) {
      std::uint64_t word = 0;
      std::memcpy(&word, cell++->bytes, sizeof(word));
      begun += send(frame, port, word);
      continue;
    }
    Tensor& value = made_[next++];
    if (!runner.adds(i)) begun += send(frame, port, std::move(value));
  }
  return begun;
}

// Whether all tables that a region changes rows of are this activation's alone.
bool TaggedWorker::owns_changed(Frame* frame, const Work& work,
                                const RegionRunner& runner) {
  const auto& changed = runner.changed();
  return !changed.empty() &&
         std::all_of(changed.begin(), changed.end(), [&](const auto& pair) {
           const Input& input = work.inputs[pair.first];
           return !input.is_argument && !input.is_inline &&
                  frame->tensor(input.slot).owns_uniquely();
         });
}

std::int32_t TaggedWorker::run_switch(Frame* frame, const Work& work) {
  const Input& data = work.inputs[0];
  // Nothing is sent to the other side, so nothing runs there.
  const bool taken = *frame->at(work.inputs[1].slot) != std::byte{0};
  const Port& port = work.outputs[taken ? 0 : 1];
  if (data.is_inline) return send(frame, port, frame->word(data.slot));
  return send(frame, port, std::move(frame->tensor(data.slot)));
}

// Passes on the arguments that are there; the first begins the activation.
std::int32_t TaggedWorker::run_call(Frame* frame, const Work& work,
                                    std::uint32_t index) {
  const SiteLayout& site = session_.program.sites[at(work.site)];
  // The bits of a call say which arguments have come since it last ran. They
  // are taken together with the mark that it is queued: what comes after this
  // queues it again.
  std::uint32_t ready = ~kQueued;
  if (!site.is_strict) {
    std::uint32_t& pending = frame->pending(index);
    ready &= is_alone_ ? std::exchange(pending, 0)
                       : std::atomic_ref(pending).exchange(
                             0, std::memory_order_acq_rel);
  }
  std::int32_t change = 0;
  Frame* child = this->child(frame, work, site, change);
  std::int32_t begun = 0;
  for (std::size_t i = work.inputs.size(); i-- > 0;) {
    const Input& input = work.inputs[i];
    if (!site.is_strict && (ready >> i & 1u) == 0) continue;
    // The activation began with all its arguments outstanding. Each that is
    // passed is one less, and what it makes ready is more.
    --begun;
    if (input.is_argument) continue;
    begun += input.is_inline
                 ? send(child, work.outputs[i], frame->word(input.slot))
                 : send(child, work.outputs[i],
                        std::move(frame->tensor(input.slot)));
  }
  // The callee may be done with this, and its frame in other hands.
  finish(child, begun);
  return change;
}

std::int32_t TaggedWorker::run_return(Frame* frame, const Work& work) {
  const Input& input = work.inputs[0];
  Frame* parent = frame->parent;
  if (parent == nullptr) {
    store_result(frame, work);
    return 0;
  }
  const Port& port =
      session_.program.sites[at(frame->site)].results[at(work.index)];
  const std::int32_t begun =
      input.is_inline
          ? send(parent, port, frame->word(input.slot))
          : send(parent, port, std::move(frame->tensor(input.slot)));
  // The caller cannot be done here, as the activation that returns counts in it
  // until its own end.
  if (begun != 0) add(parent->outstanding, begun);
  return 0;
}

void TaggedWorker::store_result(Frame* frame, const Work& work) {
  const Input& input = work.inputs[0];
  Tensor& result = session_.results[at(work.index)];
  if (input.is_inline) {
    result = Tensor::empty(input.type);
    std::memcpy(result.raw(), frame->at(input.slot), result.bytes());
  } else {
    result = frame->tensor(input.slot).take(input.type);
  }
}

}  // namespace weft
