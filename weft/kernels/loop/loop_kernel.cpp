#include "weft/kernels/loop/loop_kernel.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "weft/base/parallel.h"

namespace weft {
namespace {

// 2 KiB of f32: a dozen buffers fit the 32 KiB of a first-level cache, and
// the call per instruction is spread over 32 vectors.
constexpr std::int64_t kFunctionTile = 512;
// Generated code needs buffers for repeated operands and sums only.
constexpr std::int64_t kCodeTile = 1024;
// Generated code takes at most this many operands, results and buffers.
constexpr std::size_t kMostPointers = 64;
// Enough chunks to balance any machine, few enough to fold quickly.
constexpr std::int64_t kMostChunks = 64;
constexpr std::int64_t kLeastTilesPerChunk = 16;
// Waking a thread costs about as much as this many simple element operations.
constexpr std::int64_t kWorkPerThread = std::int64_t{48} * 1024;

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Of any type and machine.
std::int64_t whole_vectors(std::int64_t size) {
  return ceil_divide(std::max<std::int64_t>(size, 1), 16) * 16;
}

std::byte* element(void* base, DType dtype, std::int64_t index) {
  return static_cast<std::byte*>(base) +
         static_cast<std::size_t>(index) * size_of(dtype);
}

// Writes the first number of a tile into the others.
void repeat_first(void* tile, DType dtype, std::int64_t size) {
  dispatch(dtype, [&]<class T>(T) {
    auto* numbers = static_cast<T*>(tile);
    std::fill_n(numbers, size, *numbers);
  });
}

// The sum of a whole loop, in the type that the loop added up in.
void scale(void* sums, DType dtype, std::int64_t size, double factor) {
  dispatch(dtype, [&]<class T>(T) {
    if constexpr (std::is_floating_point_v<T>) {
      auto* numbers = static_cast<T*>(sums);
      for (std::int64_t i = 0; i < size; ++i) {
        numbers[i] *= static_cast<T>(factor);
      }
    }
  });
}

bool is_suffix(const Shape& shape, const Shape& whole) {
  // Leading ones of `shape` do not matter.
  int skip = 0;
  while (skip < shape.rank() && shape[skip] == 1) ++skip;
  const int rank = shape.rank() - skip;
  if (rank > whole.rank()) return false;
  for (int axis = 0; axis < rank; ++axis) {
    if (shape[skip + axis] != whole[whole.rank() - rank + axis]) return false;
  }
  return true;
}

}  // namespace

struct LoopKernel::Worker {
  const KernelBuffers& buffers;
  std::byte* memory;  // tile buffers, then accumulators
  std::int64_t most;
  DType dtype;

  std::byte* at(std::size_t number) const {
    return element(memory, dtype, static_cast<std::int64_t>(number));
  }
  std::byte* tile_buffer(int index) const {
    return element(memory, dtype, index * most);
  }
};

LoopKernel::LoopKernel(LoopProgram program, bool may_generate)
    : program_(std::move(program)), own_(dtype_of(program_.type)) {
  size_ = program_.shape.num_elements();
  // Each step needs those before it: which operands need a buffer depends on
  // whether there is code, and the tile on the largest buffer.
  classify_inputs();
  if (may_generate) generate_code();
  // A short loop fills no long buffers with what repeats.
  if (!code_) most_ = std::min(kFunctionTile, whole_vectors(size_));
  choose_tile();
  assign_input_buffers();
  if (code_) {
    first_crossing_ = buffers_;
    buffers_ += static_cast<int>(code_->crossing_buffers());
  } else {
    assign_result_buffers();
  }
  plan_sums();
}

// Whether an operand is read where it lies. Tile functions want f32; code
// converts as it loads.
bool LoopKernel::is_direct(const Operand& operand) const {
  const bool is_converted = code_ && !operand.is_read_by_call;
  return (is_converted || operand.dtype == own_) && !is_repeated(operand);
}

// Whether a tile reads some element of the operand more than once.
bool LoopKernel::is_repeated(const Operand& operand) const {
  return operand.access == Access::kConstant ||
         operand.access == Access::kStrided ||
         (operand.access == Access::kPeriodic && operand.period <= most_);
}

void LoopKernel::generate_code() {
  // Where a function is called there are buffers between the pieces of code.
  const bool calls =
      std::any_of(program_.instructions.begin(), program_.instructions.end(),
                  [](const LoopProgram::Instruction& instruction) {
                    return instruction.code == Opcode::kCall;
                  });
  most_ = calls ? kFunctionTile : kCodeTile;
  std::vector<DType> dtypes;
  for (const Operand& operand : operands_) {
    // Buffers hold f32, whatever the operand is in memory.
    const bool is_buffered = operand.is_read_by_call || is_repeated(operand);
    dtypes.push_back(is_buffered ? DType::kF32 : operand.dtype);
  }
  code_ = CompiledLoop::compile(program_, dtypes);
  // The pointers of a tile lie on the stack.
  if (code_ &&
      operands_.size() + program_.outputs.size() + code_->crossing_buffers() >
          kMostPointers) {
    code_.reset();
  }
}

void LoopKernel::classify_inputs() {
  int pointer = 0;
  for (const auto& input : program_.inputs) {
    Operand operand;
    operand.dtype = input.type.dtype;
    if (input.immediate) {
      operand.access = Access::kConstant;
      operand.immediate = *input.immediate;
    } else {
      operand.pointer = pointer++;
      const std::int64_t count = input.type.shape.num_elements();
      if (count == size_ && is_suffix(input.type.shape, program_.shape)) {
        operand.access = Access::kFull;
      } else if (count == 1) {
        operand.access = Access::kConstant;
      } else if (is_suffix(input.type.shape, program_.shape)) {
        // The operand repeats as a whole, so its place follows from one
        // remainder.
        operand.access = Access::kPeriodic;
        operand.period = count;
      } else {
        operand.access = Access::kStrided;
        const auto strides = row_major_strides(input.type.shape);
        const int missing = program_.shape.rank() - input.type.shape.rank();
        for (int axis = 0; axis < input.type.shape.rank(); ++axis) {
          if (input.type.shape[axis] == 1) continue;
          operand.strides[static_cast<std::size_t>(axis) +
                          static_cast<std::size_t>(missing)] =
              strides[static_cast<std::size_t>(axis)];
        }
      }
    }
    operand.is_read_by_call = is_read_by_call(program_, operands_.size());
    operands_.push_back(operand);
  }
}

// A tile starts at a multiple of every period that fits into a tile, and does
// not cross a multiple of a longer one; so a repeated operand looks the same
// in every tile, or is contiguous in it. Periods are products of trailing
// dims, so each divides the longer ones.
void LoopKernel::choose_tile() {
  std::int64_t short_period = 1;
  std::int64_t long_period = 0;
  const auto note = [&](std::int64_t period) {
    if (period <= most_) {
      short_period = std::max(short_period, period);
    } else {
      long_period = long_period == 0 ? period : std::min(long_period, period);
    }
  };
  for (const Operand& operand : operands_) {
    if (operand.access == Access::kPeriodic) note(operand.period);
  }
  for (const auto& output : program_.outputs) {
    if (output.is_sum) note(output.type.shape.num_elements());
  }
  // Periods divide each other, so that the longest of those that fit covers the
  // others.
  tile_ = most_ / short_period * short_period;
  row_ = long_period == 0 ? std::max<std::int64_t>(1, size_) : long_period;
  tiles_per_row_ = ceil_divide(row_, tile_);
  tiles_ = size_ / row_ * tiles_per_row_;
}

std::int64_t LoopKernel::tile_start(std::int64_t tile) const {
  return tile / tiles_per_row_ * row_ + tile % tiles_per_row_ * tile_;
}

void LoopKernel::assign_input_buffers() {
  for (Operand& operand : operands_) {
    if (!is_direct(operand)) operand.buffer = buffers_++;
  }
}

// Gives every result that needs one a tile buffer, reusing those of values
// that nobody reads any more.
void LoopKernel::assign_result_buffers() {
  const std::size_t inputs = operands_.size();
  const std::size_t count = inputs + program_.instructions.size();
  std::vector<std::size_t> last_use(count, 0);
  for (std::size_t i = 0; i < program_.instructions.size(); ++i) {
    for (const int operand : program_.instructions[i].operands) {
      last_use[static_cast<std::size_t>(operand)] = i;
    }
  }
  for (const auto& output : program_.outputs) {
    last_use[static_cast<std::size_t>(output.operand)] = count;
  }
  results_.resize(program_.instructions.size());
  for (std::size_t j = 0; j < program_.outputs.size(); ++j) {
    const auto& output = program_.outputs[j];
    if (output.is_sum || output.type.dtype != own_) continue;
    const auto number = static_cast<std::size_t>(output.operand);
    // A result of the tile's dtype needs no buffer: its instruction writes it
    // to memory. A value that is stored twice is copied for the second.
    if (number >= inputs && results_[number - inputs].output < 0) {
      results_[number - inputs].output = static_cast<int>(j);
    }
  }
  std::vector<int> free;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    // A dead operand's buffer may be the result's: tile functions work in
    // place.
    for (const int operand : program_.instructions[i].operands) {
      const auto number = static_cast<std::size_t>(operand);
      if (number < inputs || last_use[number] != i) continue;
      const int buffer = results_[number - inputs].buffer;
      if (buffer < 0) continue;
      if (std::find(free.begin(), free.end(), buffer) == free.end()) {
        free.push_back(buffer);
      }
    }
    if (results_[i].output >= 0) continue;
    if (free.empty()) free.push_back(buffers_++);
    results_[i].buffer = free.back();
    free.pop_back();
  }
}

void LoopKernel::plan_sums() {
  worker_numbers_ = static_cast<std::size_t>(buffers_ * most_);
  const auto has_sum =
      std::any_of(program_.outputs.begin(), program_.outputs.end(),
                  [](const auto& o) { return o.is_sum; });
  chunks_ = has_sum ? std::clamp<std::int64_t>(tiles_ / kLeastTilesPerChunk, 1,
                                               kMostChunks)
                    : tiles_;
  std::size_t partial_numbers = 0;
  for (std::size_t j = 0; j < program_.outputs.size(); ++j) {
    if (!program_.outputs[j].is_sum) continue;
    Sum sum;
    sum.output = j;
    sum.period = program_.outputs[j].type.shape.num_elements();
    // An accumulator has room for a whole tile, which is then added to it
    // without a look at where periods end.
    sum.width = std::max(sum.period, tile_);
    sum.partial_offset = partial_numbers;
    sum.accumulator_offset = worker_numbers_;
    partial_numbers += static_cast<std::size_t>(chunks_ * sum.period);
    worker_numbers_ += static_cast<std::size_t>(whole_vectors(sum.width));
    sums_.push_back(sum);
  }
  const auto steps = static_cast<std::int64_t>(program_.instructions.size() +
                                               program_.outputs.size());
  const std::int64_t useful =
      std::max<std::int64_t>(1, size_ * steps / kWorkPerThread);
  workers_ = std::max<std::int64_t>(
      // Chunks are handed out to whatever workers there are; their number does
      // not change what is added to what.
      1, std::min<std::int64_t>({thread_count(), useful, chunks_}));
  // The partial sums stand behind the workers' parts.
  const std::size_t all_workers =
      worker_numbers_ * static_cast<std::size_t>(workers_);
  for (Sum& sum : sums_) sum.partial_offset += all_workers;
  scratch_bytes_ = (all_workers + partial_numbers) * size_of(own_);
}

bool LoopKernel::can_overwrite(std::size_t input, std::size_t output) const {
  const Operand& operand = operands_[input];
  const auto& target = program_.outputs[output];
  // An operand that is read at several places must not change before the last
  // of them.
  if (operand.access != Access::kFull || target.is_sum ||
      size_of(operand.dtype) != size_of(target.type.dtype)) {
    return false;
  }
  // Operands with a buffer are read before all the instructions of a tile.
  if (operand.buffer >= 0) return true;
  if (code_) return code_->can_overwrite(input, output);
  const std::size_t inputs = operands_.size();
  const auto number = static_cast<std::size_t>(target.operand);
  const bool is_direct = number >= inputs && results_[number - inputs].output ==
                                                 static_cast<int>(output);
  const std::size_t written =
      is_direct ? number - inputs : program_.instructions.size();
  // Tile functions write a result as soon as they have it: no later instruction
  // may read the operand, and no other output copy it.
  for (std::size_t i = written + 1; i < program_.instructions.size(); ++i) {
    for (const int read : program_.instructions[i].operands) {
      if (static_cast<std::size_t>(read) == input) return false;
    }
  }
  for (std::size_t j = 0; j < program_.outputs.size(); ++j) {
    if (j != output &&
        static_cast<std::size_t>(program_.outputs[j].operand) == input) {
      return false;
    }
  }
  return true;
}

void LoopKernel::run(const KernelBuffers& buffers) noexcept {
  if (size_ > 0) {
    parallel_for(workers_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t worker = begin; worker < end; ++worker) {
        run_chunks(buffers, worker);
      }
    });
  }
  finish_sums(buffers);
}

void LoopKernel::run_chunks(const KernelBuffers& buffers,
                            std::int64_t index) noexcept {
  const auto numbers = static_cast<std::int64_t>(worker_numbers_);
  Worker worker{buffers, element(buffers.scratch, own_, index * numbers), most_,
                own_};
  // Patterns are filled once for each worker, not for each tile.
  prepare_patterns(worker);
  const std::int64_t first = chunks_ * index / workers_;
  const std::int64_t last = chunks_ * (index + 1) / workers_;
  for (std::int64_t chunk = first; chunk < last; ++chunk) {
    for (const Sum& sum : sums_) {
      std::memset(worker.at(sum.accumulator_offset), 0, bytes_of(sum.width));
    }
    const std::int64_t end = tiles_ * (chunk + 1) / chunks_;
    for (std::int64_t tile = tiles_ * chunk / chunks_; tile < end; ++tile) {
      const std::int64_t start = tile_start(tile);
      // The last tile of a row may be short.
      const std::int64_t row_end = (start / row_ + 1) * row_;
      run_tile(worker, start, std::min(tile_, row_end - start));
    }
    for (const Sum& sum : sums_) {
      fold(sum, worker.at(sum.accumulator_offset),
           partial_of(sum, buffers, chunk));
    }
  }
}

// Fills the buffers that are the same for every tile.
void LoopKernel::prepare_patterns(Worker& worker) const noexcept {
  for (const Operand& operand : operands_) {
    if (operand.buffer < 0) continue;  // read where it lies
    const void* source =
        operand.pointer < 0
            ? nullptr
            : worker.buffers.inputs[static_cast<std::size_t>(operand.pointer)];
    std::byte* buffer = worker.tile_buffer(operand.buffer);
    if (operand.access == Access::kConstant) {
      if (source != nullptr) {
        load_tile(operand.dtype, source, buffer, 1, program_.type);
      } else {
        load_tile(DType::kF64, &operand.immediate, buffer, 1, program_.type);
      }
      repeat_first(buffer, own_, tile_);
    } else if (operand.access == Access::kPeriodic && operand.period <= most_) {
      load_tile(operand.dtype, source, buffer, operand.period, program_.type);
      // The tile is a multiple of the period, so the pattern fits every tile.
      const std::size_t period = bytes_of(operand.period);
      for (std::size_t i = period; i < bytes_of(tile_); i += period) {
        std::memcpy(buffer + i, buffer, period);
      }
    }
  }
}

void LoopKernel::run_tile(Worker& worker, std::int64_t start,
                          std::int64_t size) const noexcept {
  fill_buffers(worker, start, size);
  if (code_)
    run_code(worker, start, size);
  else
    run_functions(worker, start, size);
}

// Converts and repeats the operands that differ from tile to tile.
void LoopKernel::fill_buffers(Worker& worker, std::int64_t start,
                              std::int64_t size) const noexcept {
  for (const Operand& operand : operands_) {
    if (operand.buffer < 0 || operand.access == Access::kConstant) continue;
    void* source =
        worker.buffers.inputs[static_cast<std::size_t>(operand.pointer)];
    std::byte* buffer = worker.tile_buffer(operand.buffer);
    if (operand.access == Access::kFull) {
      load_tile(operand.dtype, element(source, operand.dtype, start), buffer,
                size, program_.type);
    } else if (operand.access == Access::kStrided) {
      fill_strided(operand, source, buffer, start, size);
    } else if (operand.period > most_) {
      load_tile(operand.dtype,
                element(source, operand.dtype, start % operand.period), buffer,
                size, program_.type);
    }
  }
}

void LoopKernel::run_code(Worker& worker, std::int64_t start,
                          std::int64_t size) const noexcept {
  std::array<void*, kMostPointers> pointers;
  std::size_t count = 0;
  for (const Operand& operand : operands_) {
    if (operand.buffer >= 0) {
      pointers[count++] = worker.tile_buffer(operand.buffer);
      continue;
    }
    const std::int64_t index =
        operand.access == Access::kFull ? start : start % operand.period;
    pointers[count++] = element(
        worker.buffers.inputs[static_cast<std::size_t>(operand.pointer)],
        operand.dtype, index);
  }
  auto sum = sums_.begin();
  for (std::size_t j = 0; j < program_.outputs.size(); ++j) {
    const auto& output = program_.outputs[j];
    if (output.is_sum) {
      pointers[count++] = accumulator_of(worker, *sum, start);
      ++sum;
    } else {
      pointers[count++] =
          element(worker.buffers.outputs[j], output.type.dtype, start);
    }
  }
  for (std::size_t i = 0; i < code_->crossing_buffers(); ++i) {
    pointers[count++] =
        worker.tile_buffer(first_crossing_ + static_cast<int>(i));
  }
  code_->run(pointers.data(), size);
}

void LoopKernel::run_functions(Worker& worker, std::int64_t start,
                               std::int64_t size) const noexcept {
  const std::size_t inputs = operands_.size();
  const auto find = [&](int number) -> void* {
    const auto index = static_cast<std::size_t>(number);
    if (index < inputs) {
      const Operand& operand = operands_[index];
      if (operand.buffer >= 0) return worker.tile_buffer(operand.buffer);
      return element(
          worker.buffers.inputs[static_cast<std::size_t>(operand.pointer)],
          own_,
          operand.access == Access::kFull ? start : start % operand.period);
    }
    const Result& result = results_[index - inputs];
    if (result.buffer >= 0) return worker.tile_buffer(result.buffer);
    return element(
        worker.buffers.outputs[static_cast<std::size_t>(result.output)], own_,
        start);
  };

  for (std::size_t i = 0; i < program_.instructions.size(); ++i) {
    const auto& instruction = program_.instructions[i];
    Tile tile{{}, nullptr, size, instruction.parameters};
    for (std::size_t n = 0; n < instruction.operands.size(); ++n) {
      tile.x[n] = find(instruction.operands[n]);
    }
    tile.y = find(static_cast<int>(inputs + i));
    instruction.function(tile);
  }

  for (std::size_t j = 0; j < program_.outputs.size(); ++j) {
    const auto& output = program_.outputs[j];
    if (output.is_sum) continue;
    const auto number = static_cast<std::size_t>(output.operand);
    if (number >= inputs &&
        results_[number - inputs].output == static_cast<int>(j)) {
      continue;  // its instruction wrote it
    }
    store_tile(output.type.dtype, find(output.operand),
               element(worker.buffers.outputs[j], output.type.dtype, start),
               size, program_.type);
  }
  for (const Sum& sum : sums_) {
    accumulate_tile(find(program_.outputs[sum.output].operand),
                    accumulator_of(worker, sum, start), size, program_.type);
  }
}

// A long accumulator is longer than a tile: each tile has its part of it.
void* LoopKernel::accumulator_of(const Worker& worker, const Sum& sum,
                                 std::int64_t start) const noexcept {
  return element(worker.at(sum.accumulator_offset), own_,
                 sum.period > most_ ? start % sum.period : 0);
}

// Walks the tile in runs along the last axis, where the operand's stride is 0
// or 1.
void LoopKernel::fill_strided(const Operand& operand, const void* source,
                              std::byte* tile, std::int64_t start,
                              std::int64_t size) const noexcept {
  const Shape& shape = program_.shape;
  const int last = shape.rank() - 1;
  const std::int64_t columns = shape[last];
  std::int64_t done = 0;
  while (done < size) {
    const std::int64_t index = start + done;
    const std::int64_t column = index % columns;
    std::int64_t rest = index / columns;
    std::int64_t offset = 0;
    for (int axis = last - 1; axis >= 0; --axis) {
      offset +=
          rest % shape[axis] * operand.strides[static_cast<std::size_t>(axis)];
      rest /= shape[axis];
    }
    const std::int64_t run = std::min(size - done, columns - column);
    const std::int64_t stride = operand.strides[static_cast<std::size_t>(last)];
    const auto* from = static_cast<const std::byte*>(source) +
                       static_cast<std::size_t>(offset + column * stride) *
                           size_of(operand.dtype);
    std::byte* to = element(tile, own_, done);
    load_tile(operand.dtype, from, to, stride == 0 ? 1 : run, program_.type);
    if (stride == 0) repeat_first(to, own_, run);
    done += run;
  }
}

// An accumulator holds whole tiles; elements that are a period apart belong
// to the same sum.
void LoopKernel::fold(const Sum& sum, void* accumulator,
                      void* partial) const noexcept {
  std::memcpy(partial, accumulator, bytes_of(sum.period));
  for (std::int64_t i = sum.period; i < sum.width; i += sum.period) {
    accumulate_tile(element(accumulator, own_, i), partial,
                    std::min(sum.period, sum.width - i), program_.type);
  }
}

void* LoopKernel::partial_of(const Sum& sum, const KernelBuffers& buffers,
                             std::int64_t chunk) const noexcept {
  return element(
      buffers.scratch, own_,
      static_cast<std::int64_t>(sum.partial_offset) + chunk * sum.period);
}

void LoopKernel::finish_sums(const KernelBuffers& buffers) const noexcept {
  for (const Sum& sum : sums_) {
    const auto& output = program_.outputs[sum.output];
    void* partial = partial_of(sum, buffers, 0);
    // No chunk has run, and the sum of nothing is zero.
    if (size_ == 0) std::memset(partial, 0, bytes_of(sum.period));
    for (std::int64_t chunk = 1; chunk < chunks_; ++chunk) {
      accumulate_tile(partial_of(sum, buffers, chunk), partial, sum.period,
                      program_.type);
    }
    scale(partial, own_, sum.period, output.scale);
    store_tile(output.type.dtype, partial, buffers.outputs[sum.output],
               sum.period, program_.type);
  }
}

}  // namespace weft
