#include "weft/runtime/tagged/worker.h"

#include <algorithm>

#include "weft/base/index.h"

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
          frame->tensor(work.inputs[0].slot).take(work.inputs[0].type));
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

std::int32_t TaggedWorker::send(Frame* frame, const Port& port,
                                TensorBytes tensor) {
  return deliver(frame, port, [&](std::uint32_t slot, bool is_last) {
    // The last reader gets the tensor itself: one that is alone may then
    // overwrite it (owns_changed).
    if (is_last)
      frame->tensor(slot) = std::move(tensor);
    else
      frame->tensor(slot) = tensor;
  });
}

}  // namespace weft
