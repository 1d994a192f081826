#include "weft/concurrent/coherence/partial_order.h"

#include <algorithm>

namespace weft::concurrent {
namespace {

template <class Clock>
void join(Clock& clock, const Clock& other) {
  for (std::size_t i = 0; i < clock.size(); ++i)
    clock[i] = std::max(clock[i], other[i]);
}

}  // namespace

void PartialOrder::clear() {
  steps_.clear();
  threads_ = {};
  words_.clear();
  everything_ = -1;
}

// Joins a step that the new one depends on into the new one's past.
void PartialOrder::depend(int step, const Clock& before, Clock& clock) {
  const Step& other = steps_[static_cast<std::size_t>(step)];
  // What was in the past already could not have come the other way round.
  if (!is_before(other, before)) races_.push_back(step);
  join(clock, other.clock);
}

void PartialOrder::use(Word& word, bool writes, const Clock& before,
                       Clock& clock) {
  if (!writes) {
    if (word.write >= 0) depend(word.write, before, clock);
    word.reads.push_back(size());
    return;
  }
  for (const int read : word.reads) depend(read, before, clock);
  // A read in between separates this write from the last one.
  if (word.reads.empty() && word.write >= 0) depend(word.write, before, clock);
  word.reads.clear();
  word.write = size();
}

void PartialOrder::use_everything(const Clock& before, Clock& clock) {
  if (words_.empty() && everything_ >= 0) depend(everything_, before, clock);
  for (auto& [unit, word] : words_) use(word, true, before, clock);
  // All of them were written just now: `everything_` stands for them, and words
  // that are used from now on begin with it.
  words_.clear();
  everything_ = size();
}

const std::vector<int>& PartialOrder::add(int thread,
                                          const Footprint& footprint) {
  races_.clear();
  const auto self = static_cast<std::size_t>(thread);
  // Races are looked for against what was in the past before this step: joining
  // one dependency must not hide another.
  const Clock before = threads_[self];
  Clock clock = before;
  ++clock[self];
  if (footprint.is_everything()) {
    use_everything(before, clock);
  } else {
    for (auto at = footprint.first; at <= footprint.last; ++at) {
      Word& word =
          words_.try_emplace(at, Word{.write = everything_, .reads = {}})
              .first->second;
      use(word, footprint.writes, before, clock);
    }
  }
  threads_[self] = clock;
  steps_.push_back({thread, clock});
  return races_;
}

void PartialOrder::wake(int thread, int step) {
  join(threads_[static_cast<std::size_t>(thread)],
       steps_[static_cast<std::size_t>(step)].clock);
}

ThreadSet PartialOrder::initials(int step) const {
  const Step& origin = steps_[static_cast<std::size_t>(step)];
  ThreadSet seen = 0;
  ThreadSet result = 0;
  std::vector<const Step*> kept;
  for (int i = step + 1; i < size(); ++i) {
    const Step& candidate = steps_[static_cast<std::size_t>(i)];
    const bool is_last = i + 1 == size();
    // What had to follow `step` cannot come before it in another order.
    if (!is_last && is_before(origin, candidate.clock)) continue;
    // A thread could go first if nothing else that is kept had to come before
    // its first step.
    const bool is_first = std::none_of(
        kept.begin(), kept.end(),
        [&](const Step* other) { return is_before(*other, candidate.clock); });
    if (is_first && (seen & only(candidate.thread)) == 0)
      result |= only(candidate.thread);
    seen |= only(candidate.thread);
    kept.push_back(&candidate);
  }
  return result;
}

}  // namespace weft::concurrent
