#include "weft/compiler/chunk_runs.h"

#include <algorithm>
#include <cmath>

#include "weft/compiler/step_bytes.h"

namespace weft {
namespace {

// Beginning a part of a chunk takes a microsecond, in which memory gives a
// thread so many bytes, and a cache four times as many: less saved for each is
// not worth it.
constexpr double kBytesPerStart = 25e3;
constexpr double kCacheOverMemory = 4;
// More of the threads' time is not to be lost to what a batch leaves over.
constexpr double kMostIdle = 0.15;

class ChunkRuns {
 public:
  ChunkRuns(const BatchSteps& steps, const ChunkOptions& options)
      : steps_(steps), options_(options), is_counted_(steps.size(), false) {}

  std::vector<ChunkRun> run() {
    form_runs();
    for (ChunkRun& run : runs_) run.is_chunked = run.is_chunked && pays(run);
    return std::move(runs_);
  }

 private:
  void form_runs();
  bool may_join(const ChunkRun& run, std::size_t i,
                bool depends_on_waiting) const;
  double moved_chunked(const StepList& members, const StepList& parts) const;
  double idle_share(double chunks) const;
  bool pays(const ChunkRun& run);

  const BatchSteps& steps_;
  const ChunkOptions& options_;
  std::vector<ChunkRun> runs_;
  std::vector<bool> is_counted_;  // transforms that a chunked run computes
};

// Each step in order joins the run before it or begins one. What cannot be
// chunked goes before the run, or waits behind it if it depends on it.
void ChunkRuns::form_runs() {
  ChunkRun current;
  std::vector<ChunkRun> waiting;
  std::set<std::size_t> waiting_steps;
  const auto close = [&] {
    if (!current.members.empty()) runs_.push_back(std::move(current));
    for (ChunkRun& run : waiting) runs_.push_back(std::move(run));
    current = {};
    waiting.clear();
    waiting_steps.clear();
  };
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (steps_.is_transform(i)) continue;
    const std::set<std::size_t> sources = steps_.sources(i);
    const auto depends_on = [&](const auto& some) {
      return std::any_of(some.begin(), some.end(), [&](std::size_t other) {
        return sources.contains(other);
      });
    };
    if (steps_.roles(i)) {
      if (!may_join(current, i, depends_on(waiting_steps))) close();
      current.members.push_back(i);
      current.is_chunked = true;
    } else if (depends_on(waiting_steps) || depends_on(current.members)) {
      waiting.push_back({{i}});
      waiting_steps.insert(i);
    } else {
      runs_.push_back({{i}});
    }
  }
  close();
}

bool ChunkRuns::may_join(const ChunkRun& run, std::size_t i,
                         bool depends_on_waiting) const {
  if (run.members.empty() || depends_on_waiting ||
      steps_.roles(run.members[0])->examples != steps_.roles(i)->examples) {
    return false;
  }
  const StepList parts = steps_.with_transforms({i});
  for (const std::size_t part : parts) {
    for (std::size_t k = 0; k < steps_.step(part).inputs.size(); ++k) {
      const ValueId read = steps_.step(part).inputs[k];
      const auto made = steps_.maker(read);
      // A sum is there when the run has ended, and so is a whole batch.
      if (made && contains(run.members, *made) &&
          (steps_.is_sum(read) || !steps_.roles(part)->is_each[k])) {
        return false;
      }
    }
  }
  const StepList so_far = steps_.with_transforms(run.members);
  const auto known = steps_.each_of(so_far);
  const auto own = steps_.each_of(parts);
  // Steps that share nothing would only take room from each other.
  if (std::ranges::none_of(
          own, [&](const auto& each) { return known.contains(each.first); })) {
    return false;
  }
  StepList all = run.members;
  all.push_back(i);
  return steps_.example_bytes(steps_.with_transforms(all)) <=
         static_cast<double>(options_.chunk_bytes);
}

// What a run reads and writes of each example if it is chunked.
double ChunkRuns::moved_chunked(const StepList& members,
                                const StepList& parts) const {
  std::set<ValueId> own;
  for (const std::size_t i : parts) {
    own.insert(steps_.step(i).outputs.begin(), steps_.step(i).outputs.end());
  }
  double sum = 0;
  for (const auto& [id, part] : steps_.each_of(parts)) {
    if (!own.contains(id)) sum += steps_.bytes(id) * part;
  }
  for (const std::size_t i : members) {
    const PlanStep& step = steps_.step(i);
    for (std::size_t k = 0; k < step.outputs.size(); ++k) {
      if (std::ranges::any_of(
              steps_.readers(step.outputs[k]),
              [&](std::size_t reader) { return !contains(members, reader); })) {
        sum += steps_.bytes(step.outputs[k]) *
               part_written(steps_.function(), step, k);
      }
    }
  }
  return sum;
}

// The part of the threads' time in which some have no chunk left.
double ChunkRuns::idle_share(double chunks) const {
  const double rounds = std::ceil(chunks / options_.threads);
  return 1 - chunks / (rounds * options_.threads);
}

// Whether what a chunked run saves outweighs how often its parts begin. Where
// the whole batch fits the cache, each part by itself finds there what it
// reads. A transform is counted where it is computed first: others would read
// what it has left in memory.
bool ChunkRuns::pays(const ChunkRun& run) {
  const StepList parts = steps_.with_transforms(run.members);
  if (parts.size() < 2) return false;
  double alone = 0;
  for (const std::size_t i : parts) {
    if (steps_.is_transform(i) && is_counted_[i]) continue;
    alone += steps_.moved_alone(i);
  }
  const auto examples = static_cast<double>(steps_.roles(parts[0])->examples);
  const auto chunk = static_cast<double>(chunk_size(steps_, parts, options_));
  const double starts =
      std::ceil(examples / chunk) * static_cast<double>(parts.size());
  const double saved = alone - moved_chunked(run.members, parts);
  const bool is_in_cache = examples * steps_.example_bytes(parts) <=
                           static_cast<double>(options_.cache_bytes);
  const double start = (is_in_cache ? kCacheOverMemory : 1) * kBytesPerStart;
  const bool pays =
      !options_.must_pay ||
      (saved > starts * start && idle_share(examples / chunk) <= kMostIdle);
  if (pays) {
    for (const std::size_t i : parts) is_counted_[i] = true;
  }
  return pays;
}

}  // namespace

std::vector<ChunkRun> form_chunk_runs(const BatchSteps& steps,
                                      const ChunkOptions& options) {
  return ChunkRuns(steps, options).run();
}

Dim chunk_size(const BatchSteps& steps, const StepList& parts,
               const ChunkOptions& options) {
  const Dim examples = steps.roles(parts[0])->examples;
  const double most =
      static_cast<double>(options.chunk_bytes) / steps.example_bytes(parts);
  // The last chunk is not a small rest, and no thread has one more than others.
  auto chunks = static_cast<Dim>(
      std::ceil(static_cast<double>(examples) / std::max(1.0, most)));
  chunks = (chunks + options.threads - 1) / options.threads * options.threads;
  return (examples + chunks - 1) / chunks;
}

}  // namespace weft
