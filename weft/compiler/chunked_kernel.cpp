#include "weft/compiler/chunked_kernel.h"

#include <algorithm>
#include <unordered_map>

#include "weft/base/index.h"
#include "weft/base/parallel.h"
#include "weft/compiler/batch_roles.h"
#include "weft/compiler/chunk_sums.h"
#include "weft/compiler/memory_plan.h"
#include "weft/graph/kernel_times.h"

namespace weft {
namespace {

// Where an operand or a result of a part lies.
struct ChunkPlace {
  enum Kind { kInput, kOutput, kScratch } kind;
  std::size_t index = 0;          // of the step's inputs or outputs
  std::size_t offset = 0;         // bytes, in scratch
  std::size_t example_bytes = 0;  // by which it moves with each example

  std::byte* address(const KernelBuffers& buffers, Dim example) const {
    void* base = kind == kInput    ? buffers.inputs[index]
                 : kind == kOutput ? buffers.outputs[index]
                                   : buffers.scratch;
    return static_cast<std::byte*>(base) + offset +
           example_bytes * static_cast<std::size_t>(example);
  }
};

// A sum over the batch, of which each chunk gives a part.
struct ChunkSum {
  DType dtype;
  std::size_t size;  // numbers
  ChunkPlace partial;
  ChunkPlace
      total;  // the step's result; of other threads than the first, theirs
};

// The moments of the batch, made of those of each chunk.
struct ChunkMoments {
  DType dtype;
  std::size_t size;
  double rows;  // of an example
  ChunkPlace mean, variance, total_mean, total_variance;
  ChunkPlace kept;  // f64: the means so far, then sums of squares about them
};

struct ChunkPart {
  std::unique_ptr<PreparedKernel> kernel;
  bool is_in_place = false;              // what KernelCandidate::in_place says
  std::unique_ptr<PreparedKernel> last;  // for what whole chunks leave over
  std::vector<ChunkPlace> inputs, outputs;
  std::vector<void*> input_pointers, output_pointers;
  std::vector<ChunkSum> sums;
  std::vector<ChunkMoments> moments;
};

// The parts as a thread runs them.
using ChunkParts = std::vector<ChunkPart>;

class ChunkRunner : public PreparedKernel {
 public:
  // `kept_bytes`: of each thread's scratch, for values and sums.
  ChunkRunner(std::vector<ChunkParts> threads, Dim examples, Dim chunk,
              std::size_t kept_bytes)
      : threads_(std::move(threads)),
        examples_(examples),
        chunk_(chunk),
        kept_bytes_(kept_bytes) {
    std::size_t kernel_bytes = 0;
    for (const ChunkParts& parts : threads_) {
      for (const ChunkPart& part : parts) {
        for (const auto& kernel : {part.kernel.get(), part.last.get()}) {
          if (kernel == nullptr) continue;
          kernel_bytes = std::max(kernel_bytes, kernel->scratch_bytes());
        }
      }
    }
    thread_bytes_ = kept_bytes_ + aligned(kernel_bytes);
  }

  std::size_t scratch_bytes() const override {
    return threads_.size() * thread_bytes_;
  }

  void run(const KernelBuffers& buffers) noexcept override {
    parallel_for(static_cast<std::int64_t>(threads_.size()), 1,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t t = begin; t < end; ++t) {
                     run_thread(at(t), buffers);
                   }
                 });
    for (std::size_t p = 0; p < threads_[0].size(); ++p) {
      for (std::size_t t = 1; t < threads_.size(); ++t) join(p, t, buffers);
      for (const ChunkMoments& m : threads_[0][p].moments) finish(m, buffers);
    }
  }

 private:
  // The first of a thread's examples; behind the last thread, their number.
  Dim first_of(std::size_t thread) const {
    const Dim chunks = (examples_ + chunk_ - 1) / chunk_;
    const auto before =
        chunks * static_cast<Dim>(thread) / static_cast<Dim>(threads_.size());
    return std::min(before * chunk_, examples_);
  }

  KernelBuffers buffers_of(std::size_t thread,
                           const KernelBuffers& buffers) const {
    return {buffers.inputs, buffers.outputs,
            static_cast<std::byte*>(buffers.scratch) + thread * thread_bytes_};
  }

  void run_thread(std::size_t thread, const KernelBuffers& all) noexcept {
    const KernelBuffers buffers = buffers_of(thread, all);
    const Dim begin = first_of(thread);
    const Dim end = first_of(thread + 1);
    for (Dim first = begin; first < end; first += chunk_) {
      const Dim count = std::min(chunk_, end - first);
      for (ChunkPart& part : threads_[thread]) {
        run_part(part, buffers, first, count);
        take_results(part, buffers, first - begin, count);
      }
    }
  }

  void run_part(ChunkPart& part, const KernelBuffers& buffers, Dim first,
                Dim count) const noexcept {
    for (std::size_t i = 0; i < part.inputs.size(); ++i) {
      part.input_pointers[i] = part.inputs[i].address(buffers, first);
    }
    for (std::size_t i = 0; i < part.outputs.size(); ++i) {
      part.output_pointers[i] = part.outputs[i].address(buffers, first);
    }
    PreparedKernel& kernel = count == chunk_ ? *part.kernel : *part.last;
    kernel.run({part.input_pointers.data(), part.output_pointers.data(),
                static_cast<std::byte*>(buffers.scratch) + kept_bytes_});
  }

  // What a chunk has given of sums and moments, after `before` examples.
  static void take_results(const ChunkPart& part, const KernelBuffers& buffers,
                           Dim before, Dim count) noexcept {
    for (const ChunkSum& sum : part.sums) {
      add_up(sum, sum.partial.address(buffers, 0),
             sum.total.address(buffers, 0), before == 0);
    }
    for (const ChunkMoments& m : part.moments) {
      const auto take =
          m.dtype == DType::kF64 ? merge_partial<double> : merge_partial<float>;
      take(m.mean.address(buffers, 0), m.variance.address(buffers, 0),
           kept(m, buffers), m.size, m.rows * static_cast<double>(before),
           m.rows * static_cast<double>(count));
    }
  }

  static void add_up(const ChunkSum& sum, const void* partial, void* total,
                     bool is_first) noexcept {
    const auto add_all =
        sum.dtype == DType::kF64 ? add_partial<double> : add_partial<float>;
    add_all(partial, total, sum.size, is_first);
  }

  // Takes a thread's sums and moments to those of the first.
  void join(std::size_t part, std::size_t thread,
            const KernelBuffers& buffers) const noexcept {
    const ChunkPart& own = threads_[thread][part];
    const ChunkPart& all = threads_[0][part];
    const KernelBuffers of_thread = buffers_of(thread, buffers);
    for (std::size_t i = 0; i < own.sums.size(); ++i) {
      add_up(own.sums[i], own.sums[i].total.address(of_thread, 0),
             all.sums[i].total.address(buffers, 0), false);
    }
    const auto before = static_cast<double>(first_of(thread));
    const auto count = static_cast<double>(first_of(thread + 1)) - before;
    for (std::size_t i = 0; i < own.moments.size(); ++i) {
      const ChunkMoments& m = own.moments[i];
      const double* others = kept(m, of_thread);
      double* sums = kept(all.moments[i], buffers);
      for (std::size_t k = 0; k < m.size; ++k) {
        const auto [mean, squares] =
            merged({sums[k], sums[m.size + k]}, m.rows * before,
                   {others[k], others[m.size + k]}, m.rows * count);
        sums[k] = mean;
        sums[m.size + k] = squares;
      }
    }
  }

  static double* kept(const ChunkMoments& m, const KernelBuffers& buffers) {
    return reinterpret_cast<double*>(m.kept.address(buffers, 0));
  }

  void finish(const ChunkMoments& m,
              const KernelBuffers& buffers) const noexcept {
    const auto put =
        m.dtype == DType::kF64 ? store_moments<double> : store_moments<float>;
    put(kept(m, buffers), m.total_mean.address(buffers, 0),
        m.total_variance.address(buffers, 0), m.size,
        m.rows * static_cast<double>(examples_));
  }

  std::vector<ChunkParts> threads_;
  Dim examples_;
  Dim chunk_;
  std::size_t kept_bytes_;  // of a thread's scratch; its kernels' is behind it
  std::size_t thread_bytes_;  // of scratch
};

// What runs a part of a step over so many examples.
KernelChoice prepare_part(const Function& function, const PlanStep& part,
                          const BatchRoles& roles, Dim examples) {
  if (part.loop) {
    KernelChoice loop;
    loop.kernel =
        std::make_unique<LoopKernel>(with_examples(*part.loop, examples));
    return loop;
  }
  const Node& node = function.node(part.nodes.front());
  const CallOfExamples call = with_examples(function, node, roles, examples);
  return choose_fastest_kernel(
      {*node.op, call.inputs, call.attributes, call.outputs});
}

// Lays out a step.
class ChunkBuilder {
 public:
  ChunkBuilder(const Function& function, const PlanStep& step)
      : function_(function), step_(step) {
    for (const PlanStep& part : step.parts) {
      roles_.push_back(*batch_roles(function, part));
    }
    examples_ = roles_[0].examples;
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      places_[step.inputs[i]] = {ChunkPlace::kInput, i};
    }
    for (std::size_t i = 0; i < step.outputs.size(); ++i) {
      places_[step.outputs[i]] = {ChunkPlace::kOutput, i};
    }
    place_values();
  }

  ChunkedKernel build() {
    const Dim chunks = (examples_ + step_.chunk - 1) / step_.chunk;
    const auto count = std::min<Dim>(thread_count(), chunks);
    const OnOneThread prepared_so;
    const std::size_t value_bytes = bytes_;
    std::size_t most_bytes = 0;
    std::vector<ChunkParts> threads;
    for (Dim thread = 0; thread < count; ++thread) {
      bytes_ = value_bytes;
      threads.push_back(build_parts(thread == 0, thread == count - 1));
      most_bytes = std::max(most_bytes, bytes_);
    }
    std::vector<std::pair<std::size_t, std::size_t>> overwrites;
    for (std::size_t p = 0; p < step_.parts.size(); ++p) {
      if (threads[0][p].is_in_place) add_overwrite(p, overwrites);
    }
    return {std::make_unique<ChunkRunner>(std::move(threads), examples_,
                                          step_.chunk, most_bytes),
            std::move(overwrites)};
  }

 private:
  std::size_t example_bytes(ValueId id) const {
    return function_.type(id).bytes() / static_cast<std::size_t>(examples_);
  }

  ChunkPlace reserve(std::size_t bytes) {
    const std::size_t offset = bytes_;
    bytes_ += aligned(bytes);
    return {ChunkPlace::kScratch, 0, offset};
  }

  // What is neither read from memory nor left there has room for one chunk,
  // from the part that makes it to the last that reads it.
  void place_values() {
    std::vector<ValueId> values;
    std::vector<Lifetime> lifetimes;
    std::unordered_map<ValueId, std::size_t> numbers;
    for (std::size_t p = 0; p < step_.parts.size(); ++p) {
      const PlanStep& part = step_.parts[p];
      for (const ValueId id : part.inputs) {
        const auto found = numbers.find(storage_of(function_, id));
        if (found != numbers.end()) lifetimes[found->second].last = p;
      }
      for (std::size_t k = 0; k < part.outputs.size(); ++k) {
        const ValueId id = part.outputs[k];
        if (roles_[p].results[k] != BatchRoles::kEach || places_.contains(id)) {
          continue;
        }
        numbers[id] = values.size();
        values.push_back(id);
        const auto chunk = static_cast<std::size_t>(step_.chunk);
        lifetimes.push_back({aligned(example_bytes(id) * chunk), p, p});
      }
    }
    const MemoryPlan memory = plan_memory(lifetimes);
    for (std::size_t i = 0; i < values.size(); ++i) {
      places_[values[i]] = {ChunkPlace::kScratch, 0, memory.offsets[i]};
    }
    bytes_ = aligned(memory.arena_bytes);
  }

  // The rest of the batch is the last thread's.
  ChunkParts build_parts(bool is_first, bool is_last) {
    ChunkParts parts;
    for (std::size_t p = 0; p < step_.parts.size(); ++p) {
      const PlanStep& step = step_.parts[p];
      ChunkPart part = build_part(step, roles_[p]);
      const Dim rest = examples_ % step_.chunk;
      if (is_last && rest != 0) {
        part.last = prepare_part(function_, step, roles_[p], rest).kernel;
      }
      // The totals of others lie beside their values until all have ended.
      for (ChunkSum& sum : part.sums) {
        if (!is_first) sum.total = reserve(sum.size * size_of(sum.dtype));
      }
      parts.push_back(std::move(part));
    }
    return parts;
  }

  ChunkPart build_part(const PlanStep& step, const BatchRoles& roles) {
    ChunkPart part;
    KernelChoice choice = prepare_part(function_, step, roles, step_.chunk);
    part.kernel = std::move(choice.kernel);
    part.is_in_place = choice.in_place;
    for (std::size_t k = 0; k < step.inputs.size(); ++k) {
      part.inputs.push_back(place_of(step.inputs[k], roles.is_each[k]));
    }
    for (std::size_t k = 0; k < step.outputs.size(); ++k) {
      const ValueId id = step.outputs[k];
      part.outputs.push_back(roles.results[k] == BatchRoles::kEach
                                 ? place_of(id, true)
                                 : reserve(function_.type(id).bytes()));
      if (roles.results[k] == BatchRoles::kSum) add_sum(part, id);
      // The variance comes behind its mean.
      if (roles.results[k] == BatchRoles::kVariance) {
        add_moments(part, step.inputs[0], step.outputs[k - 1], id);
      }
    }
    part.input_pointers.resize(part.inputs.size());
    part.output_pointers.resize(part.outputs.size());
    return part;
  }

  // The first operand of a part and its first result, if nothing but this
  // chunk's examples of that operand is read before, and nothing of it after.
  void add_overwrite(
      std::size_t part,
      std::vector<std::pair<std::size_t, std::size_t>>& overwrites) const {
    const PlanStep& own = step_.parts[part];
    const ValueId from = storage_of(function_, own.inputs[0]);
    const auto input = std::ranges::find(step_.inputs, from);
    const auto output = std::ranges::find(step_.outputs, own.outputs[0]);
    if (input == step_.inputs.end() || output == step_.outputs.end()) return;
    for (std::size_t p = 0; p < step_.parts.size(); ++p) {
      const std::vector<ValueId>& reads = step_.parts[p].inputs;
      for (std::size_t k = 0; k < reads.size(); ++k) {
        if (storage_of(function_, reads[k]) != from) continue;
        const bool is_own = p == part && k == 0;
        if ((p >= part && !is_own) || !roles_[p].is_each[k]) return;
      }
    }
    overwrites.emplace_back(input - step_.inputs.begin(),
                            output - step_.outputs.begin());
  }

  ChunkPlace place_of(ValueId id, bool is_each) const {
    ChunkPlace place = places_.at(storage_of(function_, id));
    if (is_each && place.kind != ChunkPlace::kScratch) {
      place.example_bytes = example_bytes(id);
    }
    return place;
  }

  std::size_t size_of_value(ValueId id) const {
    return static_cast<std::size_t>(function_.type(id).shape.num_elements());
  }

  void add_sum(ChunkPart& part, ValueId id) {
    part.sums.push_back({function_.type(id).dtype, size_of_value(id),
                         part.outputs.back(), places_.at(id)});
  }

  void add_moments(ChunkPart& part, ValueId x, ValueId mean, ValueId variance) {
    const std::size_t size = size_of_value(mean);
    const auto rows = size_of_value(x) / size;
    part.moments.push_back(
        {function_.type(mean).dtype, size,
         static_cast<double>(rows) / static_cast<double>(examples_),
         part.outputs[part.outputs.size() - 2], part.outputs.back(),
         places_.at(mean), places_.at(variance),
         reserve(2 * size * sizeof(double))});
  }

  const Function& function_;
  const PlanStep& step_;
  std::vector<BatchRoles> roles_;  // by part
  Dim examples_ = 0;
  std::unordered_map<ValueId, ChunkPlace> places_;
  std::size_t bytes_ = 0;
};

}  // namespace

ChunkedKernel chunked_kernel(const Function& function, const PlanStep& step) {
  return ChunkBuilder(function, step).build();
}

}  // namespace weft
