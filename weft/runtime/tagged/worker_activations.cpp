// The part of a worker that begins and ends activations.
#include "weft/base/index.h"
#include "weft/runtime/tagged/worker.h"

namespace weft {
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
  for (std::size_t i = layout.first.size(); i-- > 0;) {
    const std::uint32_t work = layout.first[i];
    push(frame, work, layout.works[work].kind == FlatKind::kCall);
  }
}

// Another worker began the same activation first.
void TaggedWorker::abandon(Frame* frame) {
  --counts_.activations[at(frame->layout->body)];
  live_frames_.store(live_frames() - 1, std::memory_order_relaxed);
  frames_.give(frame);
}

// The limit is looked at when this worker has more frames than ever.
void TaggedWorker::count_frame(Frame* parent) {
  const std::int64_t live = live_frames() + 1;
  live_frames_.store(live, std::memory_order_relaxed);
  if (live <= most_frames_) return;
  most_frames_ = live;
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
  const Layout& layout = session_.program.bodies[0];
  Frame* frame = begin(0, nullptr, -1, 1);
  frame->tag = {};
  push_first(frame);
  std::int32_t begun = 0;
  for (std::size_t i = 0; i < layout.parameters.size(); ++i) {
    const Port& port = layout.parameters[i];
    if (port.targets.empty()) continue;
    begun += port.is_inline ? send(frame, port,
                                   argument_word(static_cast<std::uint32_t>(i)))
                            : send(frame, port, session_.arguments[i]);
  }
  finish(frame, begun - 1);
}

// Ends one unit of work; the frame goes when it was the last.
void TaggedWorker::finish(Frame* frame, std::int32_t change) {
  if (change != 0 && add(frame->outstanding, change) == 0) complete(frame);
}

void TaggedWorker::complete(Frame* frame) {
  for (;;) {
    if (frame->owns_sums && send_totals(frame)) return;
    Frame* parent = frame->parent;
    frames_.give(frame);
    live_frames_.store(live_frames() - 1, std::memory_order_relaxed);
    if (parent == nullptr) return session_.pool.finish();
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
    if (!value.is_defined()) value = Tensor::zeros(total.type);
    begun += send(frame, total.port, std::move(value));
  }
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
  const bool is_only = site.is_strict || site.arguments == 1;
  std::atomic_ref<Frame*> known(frame->child(work.child));
  if (!is_only) {
    Frame* begun = known.load(std::memory_order_acquire);
    if (begun != nullptr) return begun;
  }
  Frame* parent = site.is_tail ? frame->parent : frame;
  const int to = site.is_tail ? frame->site : work.site;
  Frame* made = begin(site.callee, parent, to, site.arguments);
  if (session_.peers != nullptr) made->tag = tag_of_call(frame->tag, work.site);
  if (!is_only) {
    Frame* other = nullptr;
    if (!known.compare_exchange_strong(other, made,
                                       std::memory_order_acq_rel)) {
      abandon(made);
      return other;
    }
  }
  if (site.adds_to_caller) {
    made->sums = frame->sums;
  } else if (!made->layout->totals.empty()) {
    if (free_sums_.empty()) free_sums_.push_back(&sums_.emplace_back());
    made->sums = free_sums_.back();
    made->owns_sums = true;
    free_sums_.pop_back();
  }
  if (site.is_tail) {
    add(parent->outstanding, 1);
  } else {
    change = 1;
  }
  push_first(made);
  return made;
}

}  // namespace weft
