#include "weft/runtime/tagged/worker.h"

#include <algorithm>

#include "weft/base/index.h"
#include "weft/base/stopwatch.h"
#include "weft/runtime/tagged/argument_reads.h"

namespace weft {
namespace {

// How many units of work run between two looks at the network. A look costs a
// call of the transport, and a message that waits holds up another rank.
constexpr unsigned kTicksBetweenPolls = 16;

}  // namespace

std::int64_t Session::live_frames() const {
  std::int64_t live = 0;
  for (const auto& worker : workers) live += worker->live_frames();
  return live;
}

TaggedWorker::TaggedWorker(Session& session, bool is_alone)
    : session_(session),
      is_alone_(is_alone),
      frames_(session.program, session.slab),
      runners_(session.graph.regions.size()) {
  counts_.regions.resize(session.graph.regions.size());
  // Each worker counts for itself; profile() adds up.
  counts_.activations.resize(session.graph.bodies.size());
}

RegionRunner& TaggedWorker::runner(const Layout& layout, const Work& work) {
  const int region = work.region;
  std::optional<RegionRunner>& made = runners_[at(region)];
  if (!made) {
    // Each worker has plans of its own, as a plan is used by one thread at a
    // time.
    const std::lock_guard lock(session_.planning);
    PlanOptions options = session_.region_options;
    // A final region may overwrite arguments of the run, as nothing reads them
    // after it.
    if (const FinalRegion* last = final_region(region)) {
      options.donated = last->donated;
    }
    made.emplace(session_.graph.regions[at(region)].function, options,
                 accumulated_results(layout, work));
  }
  return *made;
}

void* TaggedWorker::arena(std::size_t bytes) {
  // A worker runs one plan at a time, so all of them share one arena.
  if (!arena_.is_defined() || arena_.bytes() < bytes) {
    arena_ = Tensor();  // free the old one before the new one is taken
    arena_ = Tensor::empty({DType::kU8, {static_cast<Dim>(bytes)}});
  }
  return arena_.raw();
}

void TaggedWorker::begin_run() {
  // A run that failed may have left work; its frames are free again by now.
  last_.clear();
  ready_.clear();
  calls_.clear();
  oldest_call_ = 0;
  made_.clear();
  free_sums_.clear();
  sums_.clear();
  mailbox_.clear();
  parcels_.clear();
  live_frames_.store(0, std::memory_order_relaxed);
  most_frames_ = 0;
  counts_.regions.assign(counts_.regions.size(), {});
  counts_.activations.assign(counts_.activations.size(), 0);
}

// --- The loop ------------------------------------------------------------

void TaggedWorker::work() noexcept {
  try {
    while (const auto item = next()) run(*item);
  } catch (...) {
    // This may be a thread of the crew, above which nobody catches: the pool
    // stops the other workers and rethrows on the caller's thread.
    session_.pool.fail(std::current_exception());
  }
}

// The newest that is ready; a call only when nothing else is, so that all
// that a call's arguments need here has been done, and few run ahead of those
// that are missing.
std::optional<Item> TaggedWorker::next() {
  for (;;) {
    if (session_.pool.is_stopped()) return std::nullopt;
    // Units of work are short, so a request to stop is heard soon enough
    // without a look at every one of them.
    if (++ticks_ % 64 == 0) check_stop();
    if (session_.peers != nullptr && ticks_ % kTicksBetweenPolls == 0) hear(0);
    if (session_.pool.wants_work()) share();
    // Depth first: what was made ready last is in the caches, and finishing it
    // ends frames before new ones begin.
    if (!ready_.empty()) {
      const Item item = ready_.back();
      ready_.pop_back();
      return item;
    }
    if (calls_.size() > oldest_call_) {
      const Item item = calls_.back();
      calls_.pop_back();
      return item;
    }
    calls_.clear();
    oldest_call_ = 0;
    // What else there is to gather is heard of first.
    if (session_.peers != nullptr && hear(0)) continue;
    // Regions are gathered until nothing else can run, so that a batch is as
    // large as it can become.
    if (batcher_ != nullptr && batcher_->run(*this)) continue;
    // Only now has everything run that reads an argument of the entry, and a
    // final region may write over it.
    if (!last_.empty()) {
      const Item item = last_.back();
      last_.pop_back();
      return item;
    }
    // Among ranks there is one worker, which moves the messages too: it waits
    // in the network, not for colleagues.
    if (session_.peers == nullptr) return session_.pool.wait();
    if (session_.pool.is_stopped()) return std::nullopt;
    check_stop();
    wait_for_peers();
  }
}

void TaggedWorker::check_stop() const {
  if (!session_.stop.stop_requested()) return;
  throw Error(ErrorCode::kCancelled, "@" + session_.graph.body(0).name,
              "the run was stopped");
}

void TaggedWorker::share() {
  // Calls alone are given away: an activation pays for the change of hands, a
  // region seldom does. One unit is kept, or this worker would have to ask at
  // once.
  const std::size_t calls = calls_.size() - oldest_call_;
  if (calls > 0 && calls + ready_.size() > 1) {
    session_.pool.offer(calls_[oldest_call_++]);
  }
}

void TaggedWorker::run(Item item) {
  if (session_.before_work) session_.before_work();
  Frame* frame = item.frame;
  const Work& work = frame->layout->works[item.work];
  std::int32_t begun = 0;
  switch (work.kind) {
    case FlatKind::kRegion:
      begun = run_region(frame, work);
      break;
    case FlatKind::kSwitch:
      begun = run_switch(frame, work);
      break;
    case FlatKind::kCall:
      begun = run_call(frame, work, item.work);
      break;
    case FlatKind::kReturn:
      begun = run_return(frame, work);
      break;
    case FlatKind::kAccumulate:
      frame->sums->add(
          work.index,
          std::exchange(frame->tensor(work.inputs[0].slot), Tensor()));
      break;
    case FlatKind::kSend:
      run_send(frame, work);
      break;
    case FlatKind::kReceive:
      begun = run_receive(item);
      break;
    // These are no units of work: the layout sends values past parameters and
    // Merges, and totals are sent as an activation ends.
    case FlatKind::kTotal:
    case FlatKind::kParameter:
    case FlatKind::kMerge:
      break;
  }
  // This unit has ended and `begun` more can run. The count changes once, so
  // that it cannot touch zero between the two. Afterwards the frame may belong
  // to another activation.
  finish(frame, begun - 1);
}

// --- Sending -------------------------------------------------------------

std::int32_t TaggedWorker::add(std::int32_t& count, std::int32_t change) const {
  // With one worker nothing is shared, and an activation changes its count
  // several times.
  if (is_alone_) return count += change;
  return std::atomic_ref(count).fetch_add(change, std::memory_order_acq_rel) +
         change;
}

void TaggedWorker::push(Frame* frame, std::uint32_t work, bool is_call) {
  if (is_call) {
    calls_.push_back({frame, work});
    return;
  }
  const int region = frame->layout->works[work].region;
  // This is asked before the batcher is: a final region runs once, so there is
  // nothing to gather it with.
  if (region >= 0 && final_region(region) != nullptr) {
    last_.push_back({frame, work});
    return;
  }
  if (region >= 0 && batcher_ != nullptr && batcher_->takes(region)) {
    batcher_->add({frame, work});
    return;
  }
  ready_.push_back({frame, work});
}

// Writes a value to all its targets; returns how many became ready. Backwards,
// so that the first is the newest.
template <class Write>
std::int32_t TaggedWorker::deliver(Frame* frame, const Port& port,
                                   Write&& write) {
  std::int32_t begun = 0;
  for (std::size_t i = port.targets.size(); i-- > 0;) {
    const Target& target = port.targets[i];
    // The value is written before it is counted: whoever counts last and runs
    // the reader then sees all that others have written.
    if (target.slot != Target::kNowhere) write(target.slot, i == 0);
    bool is_ready = true;
    if (target.readiness == Readiness::kCounted) {
      std::uint32_t& pending = frame->pending(target.work);
      is_ready = is_alone_ ? --pending == 0
                           : std::atomic_ref(pending).fetch_sub(
                                 1, std::memory_order_acq_rel) == 1;
    } else if (target.readiness == Readiness::kArgument) {
      std::uint32_t& pending = frame->pending(target.work);
      const std::uint32_t bits = kQueued | 1u << target.argument;
      const std::uint32_t before = is_alone_
                                       ? std::exchange(pending, pending | bits)
                                       : std::atomic_ref(pending).fetch_or(
                                             bits, std::memory_order_acq_rel);
      // A call that is queued already finds the new bit when it runs.
      is_ready = (before & kQueued) == 0;
    }
    if (!is_ready) continue;
    push(frame, target.work, target.is_call);
    ++begun;
  }
  return begun;
}

std::int32_t TaggedWorker::send(Frame* frame, const Port& port,
                                std::uint64_t word) {
  return deliver(frame, port,
                 [&](std::uint32_t slot, bool) { frame->word(slot) = word; });
}

std::int32_t TaggedWorker::send(Frame* frame, const Port& port, Tensor tensor) {
  return deliver(frame, port, [&](std::uint32_t slot, bool is_last) {
    // The last reader gets the tensor itself: one that is alone may then
    // overwrite it (owns_changed).
    if (is_last)
      frame->tensor(slot) = std::move(tensor);
    else
      frame->tensor(slot) = tensor;
  });
}

// --- Units of work -------------------------------------------------------

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
  const Function& function = session_.graph.regions[at(work.region)].function;
  const auto& results = function.results();
  // The addresses of cells are given to the plan, so all of them exist first.
  cells_.resize(std::max(cells_.size(), work.inputs.size() + results.size()));
  inputs_.clear();
  outputs_.clear();
  made_.clear();
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
  const auto total_of = [&](std::size_t result) -> Tensor& {
    return frame->sums->total(
        accumulator_of(*frame->layout, work.outputs[result]),
        function.type(results[result]));
  };
  // The plan adds rows to a total where it lies: it takes the total as a
  // donated operand and gives it back as a result.
  for (const std::size_t result : runner.added()) {
    inputs_.push_back(total_of(result).raw());
  }
  Cell* const scalars = cell;
  const FinalRegion* last = final_region(work.region);
  // A final region's results have places of their own.
  const bool in_place = last == nullptr && owns_changed(frame, work, runner);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const TensorType& type = function.type(results[i]);
    if (is_inline(type)) {
      outputs_.push_back(cell++->bytes);
    } else if (runner.adds(i)) {
      made_.emplace_back();
      outputs_.push_back(total_of(i).raw());
    } else if (const auto table =
                   in_place ? runner.table_of(i) : std::nullopt) {
      // The table is moved on as the result that overwrites it, so that the
      // activation that reads it next owns it alone again.
      made_.push_back(std::move(frame->tensor(work.inputs[*table].slot)));
      outputs_.push_back(made_.back().raw());
    } else {
      const int result = last == nullptr ? -1 : last->results[i];
      made_.push_back(result < 0 || session_.destinations.empty()
                          ? Tensor::empty(type)
                          : session_.destinations[at(result)]);
      outputs_.push_back(made_.back().raw());
    }
  }
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
      frame->tensor(input.slot) = Tensor();
    }
  }
  std::int32_t begun = 0;
  cell = scalars;
  // Cells and tensors were made in the order of the results, each kind by
  // itself, and are taken in that order.
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
  return send(frame, port, std::exchange(frame->tensor(data.slot), Tensor()));
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
                        std::exchange(frame->tensor(input.slot), Tensor()));
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
          : send(parent, port,
                 std::exchange(frame->tensor(input.slot), Tensor()));
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
    result = std::exchange(frame->tensor(input.slot), Tensor());
  }
}

}  // namespace weft
