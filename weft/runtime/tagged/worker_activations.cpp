// The part of a worker that begins and ends activations.
#include "weft/base/index.h"
#include "weft/runtime/tagged/worker.h"

namespace weft {
// All arguments to come are outstanding from the start, those of later phases
// too: a frame lives until its gradient has entered it again.
Frame* TaggedWorker::begin(int body, Frame* parent, int site,
                           std::uint32_t arguments) {
  count_frame(parent);
  Frame* frame = frames_.take(body);
  ++counts_.activations[at(body)];
  frame->parent = parent;
  frame->site = site;
  frame->outstanding =
      static_cast<std::int32_t>(arguments + frame->layout->first.size());
  return frame;
}

void TaggedWorker::push_first(Frame* frame) {
  const Layout& layout = *frame->layout;
  // The stack is taken from its end: the first of the list runs first.
  for (std::size_t i = layout.first.size(); i-- > 0;) {
    const std::uint32_t work = layout.first[i];
    push(frame, work, layout.works[work].kind == FlatKind::kCall);
  }
}

// Another worker began the same activation first. Nobody has seen this frame,
// so nothing was sent to it.
void TaggedWorker::abandon(Frame* frame) {
  --counts_.activations[at(frame->layout->body)];
  live_frames_.store(live_frames() - 1, std::memory_order_relaxed);
  frames_.give(frame);
}

// The limit is looked at when this worker has more frames than ever.
void TaggedWorker::count_frame(Frame* parent) {
  const std::int64_t live = live_frames() + 1;
  // Only this worker writes its count: a load and a store suffice.
  live_frames_.store(live, std::memory_order_relaxed);
  if (live <= most_frames_) return;
  most_frames_ = live;
  // Summing over the workers reads memory that they write, which must not
  // happen at every activation. It happens when this worker has more frames
  // than ever, and so the peak of several workers is an estimate.
  const std::int64_t all = is_alone_ ? live : session_.live_frames();
  std::int64_t peak = session_.peak_frames.load(std::memory_order_relaxed);
  while (all > peak && !session_.peak_frames.compare_exchange_weak(
                           peak, all, std::memory_order_relaxed)) {
  }
  if (all > session_.max_frames) fail_limit(parent);
}

void TaggedWorker::fail_limit(Frame* frame) const {
  Error error(ErrorCode::kExhausted, "@" + frame->layout->name,
              "more than {} activations at once", session_.max_frames);
  add_chain(error, frame);
  error.hint(
      "does the recursion end? If it does, raise max_frames: an option of jit "
      "in Python, --max-frames of weft run, TaggedOptions::max_frames in C++");
  throw error;
}

// "in @fib", "called by @fib", …
void TaggedWorker::add_chain(Error& error, const Frame* frame) {
  constexpr std::size_t kShown = 4;  // at either end
  std::vector<const std::string*> chain;
  // Tail calls have no frame of their caller here: the chain is that of the
  // frames that still wait.
  for (const Frame* f = frame; f != nullptr; f = f->parent) {
    chain.push_back(&f->layout->name);
  }
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (i == kShown && chain.size() > 2 * kShown + 1) {
      const std::size_t left_out = chain.size() - 2 * kShown;
      error.detail(fmt::format("… {} more", left_out));
      i += left_out;
    }
    error.detail((i == 0 ? "in @" : "called by @") + *chain[i]);
  }
}

void TaggedWorker::begin_entry() {
  // One is counted for this function itself, so that the entry cannot end
  // before all arguments are sent; and one for each time that others come.
  const auto later = static_cast<std::uint32_t>(session_.late.size());
  Frame* frame = begin(0, nullptr, -1, 1 + later);
  frame->tag = {};
  session_.entry = frame;
  push_first(frame);
  finish(frame, send_arguments(frame, 0, session_.first_late(0)) - 1);
}

void TaggedWorker::pass_late() {
  Frame* frame = session_.entry;
  const std::size_t first = session_.first_late(session_.gone_on - 1);
  const std::size_t last = session_.first_late(session_.gone_on);
  finish(frame, send_arguments(frame, first, last) - 1);
}

std::int32_t TaggedWorker::send_arguments(Frame* frame, std::size_t begin,
                                          std::size_t end) {
  const Layout& layout = session_.program.bodies[0];
  std::int32_t begun = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const Port& port = layout.parameters[i];
    // An argument that regions read in place is sent nowhere.
    if (port.targets.empty()) continue;
    begun += port.is_inline ? send(frame, port,
                                   argument_word(static_cast<std::uint32_t>(i)))
                            : send(frame, port, session_.arguments[i]);
  }
  return begun;
}

// Ends one unit of work; the frame goes when it was the last.
void TaggedWorker::finish(Frame* frame, std::int32_t change) {
  if (change != 0 && add(frame->outstanding, change) == 0) complete(frame);
}

// The end of an activation may end its caller, and so on. This loops, because a
// recursion may be deeper than the stack of a thread.
void TaggedWorker::complete(Frame* frame) {
  for (;;) {
    // Sending totals makes work in this frame, which then ends a second time,
    // without totals.
    if (frame->owns_sums && send_totals(frame)) return;
    Frame* parent = frame->parent;
    frames_.give(frame);
    live_frames_.store(live_frames() - 1, std::memory_order_relaxed);
    if (parent == nullptr) return session_.pool.finish();
    // Whoever takes the last away completes the parent, so one worker does.
    if (add(parent->outstanding, -1) != 0) return;
    frame = parent;
  }
}

// All that could add has ended. False if nobody waits for the totals.
bool TaggedWorker::send_totals(Frame* frame) {
  Sums& sums = *frame->sums;
  std::int32_t begun = 0;
  for (const Layout::Total& total : frame->layout->totals) {
    Tensor value = std::exchange(sums.totals[total.accumulator], Tensor());
    // No activation has added anything, which a total still has to say.
    if (!value.is_defined()) value = Tensor::zeros(total.type);
    begun += send(frame, total.port, std::move(value));
  }
  // The Sums go back to the list, for the next recursion of this run.
  sums.totals.clear();
  free_sums_.push_back(&sums);
  frame->owns_sums = false;
  add(frame->outstanding, begun);
  return begun > 0;
}

// The activation that a call feeds, begun if this is its first argument; then
// `change` says what the caller has to wait for in addition.
Frame* TaggedWorker::child(Frame* frame, const Work& work,
                           const SiteLayout& site, std::int32_t& change) {
  // Then one unit of work begins the activation and passes all it gets.
  // Otherwise arguments come one by one, perhaps from several workers, and meet
  // in the caller's list of callees.
  const bool is_only = site.is_strict || site.arguments == 1;
  std::atomic_ref<Frame*> known(frame->child(work.child));
  if (!is_only) {
    Frame* begun = known.load(std::memory_order_acquire);
    if (begun != nullptr) return begun;
  }
  // In a tail call the callee's results go to where the caller's go, so the
  // caller's frame can end while the callee runs: a loop has the memory of two
  // iterations.
  Frame* parent = site.is_tail ? frame->parent : frame;
  const int to = site.is_tail ? frame->site : work.site;
  Frame* made = begin(site.callee, parent, to, site.arguments);
  if (session_.peers != nullptr) made->tag = tag_of_call(frame->tag, work.site);
  if (!is_only) {
    Frame* other = nullptr;
    // The loser gives its frame back. From here on others may send to `made`;
    // it cannot end, as the argument of this call is still outstanding.
    if (!known.compare_exchange_strong(other, made,
                                       std::memory_order_acq_rel)) {
      abandon(made);
      return other;
    }
  }
  // It is safe to set these after others know the frame: where there are sums,
  // there is one worker (executor.cpp).
  if (site.adds_to_caller) {
    made->sums = frame->sums;
  } else if (!made->layout->totals.empty()) {
    if (free_sums_.empty()) free_sums_.push_back(&sums_.emplace_back());
    made->sums = free_sums_.back();
    made->owns_sums = true;
    free_sums_.pop_back();
  }
  // The parent cannot end in between: the caller's own activation counts in it
  // until this unit of work has finished.
  if (site.is_tail) {
    add(parent->outstanding, 1);
  } else {
    change = 1;
  }
  push_first(made);
  return made;
}

}  // namespace weft
