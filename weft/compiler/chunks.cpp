#include "weft/compiler/chunks.h"

#include <algorithm>
#include <set>

#include "weft/base/cpu.h"
#include "weft/base/parallel.h"
#include "weft/compiler/chunk_runs.h"
#include "weft/graph/registry.h"

namespace weft {
namespace {

// The values of the chunks get this part of the last-level cache, as others use
// it, too.
constexpr std::size_t kChunkShare = 4;
// It is the most, however large that cache is: a large one is shared with other
// programs, and slower than those of a core.
constexpr std::size_t kMostChunkBytes = 8 << 20;

// Writes the steps of runs.
class Chunker {
 public:
  Chunker(const Function& function, std::vector<PlanStep> steps,
          const ChunkOptions& options)
      : function_(function),
        options_(options),
        steps_(function, std::move(steps)),
        runs_(form_chunk_runs(steps_, options)),
        is_wanted_(steps_.size(), false),
        is_made_(steps_.size(), false) {}

  std::vector<PlanStep> run() {
    find_wanted();
    const std::vector<std::vector<ValueId>> due = results_by_run();
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      emit(runs_[i]);
      emit_transforms_among(due[i]);
    }
    // Those that only read what enters the function are left.
    emit_transforms_among(function_.results());
    choose_outputs();
    return std::move(ordered_);
  }

 private:
  void find_wanted();
  void want(ValueId id);
  std::vector<std::vector<ValueId>> results_by_run() const;
  void emit(const ChunkRun& run);
  void emit_transforms_among(const std::vector<ValueId>& ids);
  void emit_chunked(const ChunkRun& run);
  void choose_outputs();

  const Function& function_;
  ChunkOptions options_;
  BatchSteps steps_;
  std::vector<ChunkRun> runs_;
  std::vector<bool> is_wanted_;  // transforms that must be in memory
  std::vector<bool> is_made_;    // those that are
  std::vector<PlanStep> ordered_;
};

// A transform is in memory for a step that stands alone, for one that reads the
// whole batch, and where it is a result.
void Chunker::find_wanted() {
  for (const ChunkRun& run : runs_) {
    const StepList parts =
        run.is_chunked ? steps_.with_transforms(run.members) : run.members;
    for (const std::size_t i : parts) {
      for (std::size_t k = 0; k < steps_.step(i).inputs.size(); ++k) {
        const bool is_own = run.is_chunked && steps_.roles(i)->is_each[k];
        if (!is_own) want(steps_.step(i).inputs[k]);
      }
    }
  }
  for (const ValueId id : function_.results()) want(id);
}

void Chunker::want(ValueId id) {
  const auto made = steps_.maker(id);
  if (made && steps_.is_transform(*made)) is_wanted_[*made] = true;
}

// The results that are transforms, which no step may read, by the run behind
// which they can be made. They do not wait for later ones, as a gradient is
// sent to other workers while the backward pass goes on.
std::vector<std::vector<ValueId>> Chunker::results_by_run() const {
  std::vector<std::size_t> run_of(steps_.size(), 0);
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    for (const std::size_t i : runs_[run].members) run_of[i] = run;
  }
  std::vector<std::vector<ValueId>> due(runs_.size());
  for (const ValueId id : function_.results()) {
    const auto made = steps_.maker(id);
    if (!made || !steps_.is_transform(*made)) continue;
    const std::set<std::size_t> sources = steps_.sources(*made);
    if (sources.empty()) continue;
    std::size_t last = 0;
    for (const std::size_t i : sources) last = std::max(last, run_of[i]);
    due[last].push_back(id);
  }
  return due;
}

void Chunker::emit(const ChunkRun& run) {
  if (run.is_chunked) return emit_chunked(run);
  for (const std::size_t i : run.members) {
    emit_transforms_among(steps_.step(i).inputs);
    ordered_.push_back(steps_.step(i));
  }
}

void Chunker::emit_transforms_among(const std::vector<ValueId>& ids) {
  for (const ValueId id : ids) {
    const auto made = steps_.maker(id);
    if (!made || !steps_.is_transform(*made) || is_made_[*made]) continue;
    emit_transforms_among(steps_.step(*made).inputs);
    ordered_.push_back(steps_.step(*made));
    is_made_[*made] = true;
  }
}

void Chunker::emit_chunked(const ChunkRun& run) {
  const StepList parts = steps_.with_transforms(run.members, is_made_);
  PlanStep step;
  step.chunk = chunk_size(steps_, parts, options_);
  std::set<ValueId> own;
  for (const std::size_t i : parts) {
    own.insert(steps_.step(i).outputs.begin(), steps_.step(i).outputs.end());
  }
  std::set<ValueId> read;
  for (const std::size_t i : parts) {
    const PlanStep& part = steps_.step(i);
    step.nodes.insert(step.nodes.end(), part.nodes.begin(), part.nodes.end());
    for (const ValueId input : part.inputs) {
      const ValueId id = storage_of(function_, input);
      if (!own.contains(id) && read.insert(id).second)
        step.inputs.push_back(id);
    }
    // A transform that somebody wants in memory is left there by the first run
    // that computes it.
    if (!steps_.is_transform(i) || is_wanted_[i]) {
      step.outputs.insert(step.outputs.end(), part.outputs.begin(),
                          part.outputs.end());
      step.unchunked_bytes += steps_.moved_alone(i);
    }
    step.parts.push_back(part);
  }
  emit_transforms_among(step.inputs);
  for (const std::size_t i : parts) {
    if (steps_.is_transform(i) && is_wanted_[i]) is_made_[i] = true;
  }
  std::sort(step.nodes.begin(), step.nodes.end());
  step.nodes.erase(std::unique(step.nodes.begin(), step.nodes.end()),
                   step.nodes.end());
  ordered_.push_back(std::move(step));
}

// A chunked step leaves those values in memory that another step reads, that
// are results, or that are sums. The others need not be computed where nothing
// in the step reads them.
void Chunker::choose_outputs() {
  std::set<ValueId> read;
  for (const ValueId id : function_.results()) {
    read.insert(storage_of(function_, id));
  }
  for (const PlanStep& step : ordered_) {
    for (const ValueId id : step.inputs) {
      read.insert(storage_of(function_, id));
    }
  }
  for (PlanStep& step : ordered_) {
    if (step.parts.empty()) continue;
    std::set<ValueId> sums;
    std::set<ValueId> inside;
    for (const PlanStep& part : step.parts) {
      const auto roles = batch_roles(function_, part);
      for (std::size_t k = 0; k < part.outputs.size(); ++k) {
        if (roles->results[k] != BatchRoles::kEach)
          sums.insert(part.outputs[k]);
      }
      for (const ValueId id : part.inputs) {
        inside.insert(storage_of(function_, id));
      }
    }
    std::erase_if(step.outputs, [&](ValueId id) {
      return !read.contains(id) && !sums.contains(id);
    });
    const std::set<ValueId> stored(step.outputs.begin(), step.outputs.end());
    for (PlanStep& part : step.parts) {
      if (!part.loop) continue;
      for (std::size_t k = part.outputs.size(); k-- > 0;) {
        if (stored.contains(part.outputs[k]) ||
            inside.contains(part.outputs[k])) {
          continue;
        }
        const auto at = static_cast<std::ptrdiff_t>(k);
        part.outputs.erase(part.outputs.begin() + at);
        part.loop->outputs.erase(part.loop->outputs.begin() + at);
      }
    }
  }
}

// The statistics of a batch.
bool has_moments(const Function& function) {
  static const OpDef& moments = op_registry().get("moments");
  return std::any_of(function.nodes().begin(), function.nodes().end(),
                     [](const Node& node) { return node.op == &moments; });
}

}  // namespace

std::vector<PlanStep> chunk_steps(const Function& function,
                                  std::vector<PlanStep> steps,
                                  const ChunkOptions& options) {
  return Chunker(function, std::move(steps), options).run();
}

std::vector<PlanStep> chunk_steps(const Function& function,
                                  std::vector<PlanStep> steps,
                                  BatchNormForm form) {
  const bool must_pay = form == BatchNormForm::kAuto;
  const bool is_forced =
      form == BatchNormForm::kBnff || form == BatchNormForm::kIcf;
  const auto cache = static_cast<std::size_t>(last_level_cache_bytes());
  // Where a machine does not say how large its caches are, no chunk is known to
  // fit them.
  if ((!must_pay && !is_forced) || cache == 0 || !has_moments(function)) {
    return steps;
  }
  const int threads = thread_count();
  return chunk_steps(
      function, std::move(steps),
      {.cache_bytes = cache,
       .chunk_bytes =
           std::min(cache / kChunkShare / static_cast<std::size_t>(threads),
                    kMostChunkBytes),
       .threads = threads,
       .must_pay = must_pay});
}

}  // namespace weft
