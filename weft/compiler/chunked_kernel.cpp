#include "weft/compiler/chunked_kernel.h"

#include <algorithm>
#include <unordered_map>

#include "weft/compiler/batch_roles.h"
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
  ChunkPlace partial, total;
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
  std::unique_ptr<PreparedKernel> last;  // for what whole chunks leave over
  std::vector<ChunkPlace> inputs, outputs;
  std::vector<void*> input_pointers, output_pointers;
  std::vector<ChunkSum> sums;
  std::vector<ChunkMoments> moments;
};

template <class T>
void add(const void* partial, void* total, std::size_t size, bool is_first) {
  const T* from = static_cast<const T*>(partial);
  T* to = static_cast<T*>(total);
  if (is_first) {
    std::copy(from, from + size, to);
    return;
  }
  for (std::size_t i = 0; i < size; ++i) to[i] += from[i];
}

// Merges moments of `rows` rows into those of `before` rows.
template <class T>
void merge(const void* mean, const void* variance, double* kept,
           std::size_t size, double before, double rows) {
  const T* means = static_cast<const T*>(mean);
  const T* variances = static_cast<const T*>(variance);
  double* squares = kept + size;
  const double all = before + rows;
  for (std::size_t i = 0; i < size; ++i) {
    if (before == 0) kept[i] = squares[i] = 0;
    const double distance = static_cast<double>(means[i]) - kept[i];
    kept[i] += distance * (rows / all);
    squares[i] += static_cast<double>(variances[i]) * rows +
                  distance * distance * (before * rows / all);
  }
}

template <class T>
void store(const double* kept, void* mean, void* variance, std::size_t size,
           double rows) {
  for (std::size_t i = 0; i < size; ++i) {
    static_cast<T*>(mean)[i] = static_cast<T>(kept[i]);
    static_cast<T*>(variance)[i] = static_cast<T>(kept[size + i] / rows);
  }
}

class ChunkedKernel : public PreparedKernel {
 public:
  ChunkedKernel(std::vector<ChunkPart> parts, Dim examples, Dim chunk,
                std::size_t kept_bytes)
      : parts_(std::move(parts)),
        examples_(examples),
        chunk_(chunk),
        kept_bytes_(kept_bytes) {
    for (const ChunkPart& part : parts_) {
      for (const auto& kernel : {part.kernel.get(), part.last.get()}) {
        if (kernel == nullptr) continue;
        kernel_bytes_ = std::max(kernel_bytes_, kernel->scratch_bytes());
      }
    }
  }

  std::size_t scratch_bytes() const override {
    return kept_bytes_ + kernel_bytes_;
  }

  void run(const KernelBuffers& buffers) noexcept override {
    for (Dim first = 0; first < examples_; first += chunk_) {
      const Dim count = std::min(chunk_, examples_ - first);
      for (ChunkPart& part : parts_) run_part(part, buffers, first, count);
    }
    for (const ChunkPart& part : parts_) {
      for (const ChunkMoments& m : part.moments) finish(m, buffers);
    }
  }

 private:
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
    for (const ChunkSum& sum : part.sums) {
      const auto add_up = sum.dtype == DType::kF64 ? add<double> : add<float>;
      add_up(sum.partial.address(buffers, 0), sum.total.address(buffers, 0),
             sum.size, first == 0);
    }
    for (const ChunkMoments& m : part.moments) {
      const auto take_in =
          m.dtype == DType::kF64 ? merge<double> : merge<float>;
      take_in(m.mean.address(buffers, 0), m.variance.address(buffers, 0),
              kept(m, buffers), m.size, m.rows * static_cast<double>(first),
              m.rows * static_cast<double>(count));
    }
  }

  static double* kept(const ChunkMoments& m, const KernelBuffers& buffers) {
    return reinterpret_cast<double*>(m.kept.address(buffers, 0));
  }

  void finish(const ChunkMoments& m,
              const KernelBuffers& buffers) const noexcept {
    const auto put = m.dtype == DType::kF64 ? store<double> : store<float>;
    put(kept(m, buffers), m.total_mean.address(buffers, 0),
        m.total_variance.address(buffers, 0), m.size,
        m.rows * static_cast<double>(examples_));
  }

  std::vector<ChunkPart> parts_;
  Dim examples_;
  Dim chunk_;
  std::size_t kept_bytes_;        // of scratch: values and sums
  std::size_t kernel_bytes_ = 0;  // behind that: the parts' own
};

// A kernel for a part of a step and so many examples.
std::unique_ptr<PreparedKernel> prepare_part(const Function& function,
                                             const PlanStep& part,
                                             const BatchRoles& roles,
                                             Dim examples) {
  if (part.loop) {
    return std::make_unique<LoopKernel>(with_examples(*part.loop, examples));
  }
  const Node& node = function.node(part.nodes.front());
  const CallOfExamples call = with_examples(function, node, roles, examples);
  return choose_fastest_kernel(
             {*node.op, call.inputs, call.attributes, call.outputs})
      .kernel;
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

  std::unique_ptr<PreparedKernel> build() {
    std::vector<ChunkPart> parts;
    for (std::size_t p = 0; p < step_.parts.size(); ++p) {
      parts.push_back(build_part(step_.parts[p], roles_[p]));
    }
    return std::make_unique<ChunkedKernel>(std::move(parts), examples_,
                                           step_.chunk, bytes_);
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

  ChunkPart build_part(const PlanStep& step, const BatchRoles& roles) {
    ChunkPart part;
    part.kernel = prepare_part(function_, step, roles, step_.chunk);
    if (const Dim rest = examples_ % step_.chunk; rest != 0) {
      part.last = prepare_part(function_, step, roles, rest);
    }
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

std::unique_ptr<PreparedKernel> chunked_kernel(const Function& function,
                                               const PlanStep& step) {
  return ChunkBuilder(function, step).build();
}

}  // namespace weft
