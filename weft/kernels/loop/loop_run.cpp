// One run of a loop kernel: chunks of tiles on several threads, then the sums.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "weft/base/parallel.h"
#include "weft/kernels/loop/loop_kernel.h"
#include "weft/kernels/loop/tile_places.h"

namespace weft {

struct LoopKernel::Worker {
  const KernelBuffers& buffers;
  std::byte* memory;  // tile buffers, then accumulators
  std::int64_t most;
  DType dtype;
  bool streams;           // results
  bool stages;            // them, by way of tile buffers
  std::int64_t part = 0;  // of the repetitions, that the chunk at hand takes

  std::byte* at(std::size_t number) const {
    return element(memory, dtype, static_cast<std::int64_t>(number));
  }
  std::byte* tile_buffer(int index) const {
    return element(memory, dtype, index * most);
  }
};

std::int64_t LoopKernel::tile_start(std::int64_t tile) const {
  return tile / tiles_per_row_ * row_ + tile % tiles_per_row_ * tile_;
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
  Worker worker{buffers,
                element(buffers.scratch, own_, index * numbers),
                most_,
                own_,
                may_stream(buffers),
                false};
  worker.stages = worker.streams && is_staged();
  // Patterns are filled once for each worker, not for each tile.
  prepare_patterns(worker);
  // Each worker takes chunks that lie side by side. Where there are sums,
  // chunks are cut by the shape alone and each has partial sums of its own, so
  // that the bits do not depend on who ran which.
  const std::int64_t first = chunks() * index / workers_;
  const std::int64_t last = chunks() * (index + 1) / workers_;
  for (std::int64_t chunk = first; chunk < last; ++chunk) {
    run_chunk(worker, chunk);
  }
  // Streamed stores are ordered weakly: without this, another thread might
  // still read what was there before.
  if (worker.streams) finish_streaming();
}

void LoopKernel::run_chunk(Worker& worker, std::int64_t chunk) const noexcept {
  const auto [first_column, last_column] = columns_of(chunk);
  const std::int64_t columns = tiles_ / repeats_;
  const std::int64_t part = chunk / column_chunks_;
  const std::int64_t last = repeats_ * (part + 1) / repeat_chunks_;
  begin_sums(worker, chunk);
  for (std::int64_t repeat = repeats_ * part / repeat_chunks_; repeat < last;
       ++repeat) {
    for (std::int64_t column = first_column; column < last_column; ++column) {
      const std::int64_t start = tile_start(repeat * columns + column);
      // The last tile of a row may be short.
      const std::int64_t row_end = (start / row_ + 1) * row_;
      const std::int64_t size = std::min(tile_, row_end - start);
      if (worker.stages) prefetch(worker, start + size);
      run_tile(worker, start, size);
    }
  }
  end_sums(worker, chunk);
}

// The tiles of a repetition that a chunk takes.
std::pair<std::int64_t, std::int64_t> LoopKernel::columns_of(
    std::int64_t chunk) const noexcept {
  const std::int64_t columns = tiles_ / repeats_;
  const std::int64_t share = chunk % column_chunks_;
  return {columns * share / column_chunks_,
          columns * (share + 1) / column_chunks_};
}

// The numbers of an owned sum that a chunk adds to.
std::pair<std::int64_t, std::int64_t> LoopKernel::places_of(
    const Sum& sum, std::int64_t chunk) const noexcept {
  const auto [first, last] = columns_of(chunk);
  // The last column may end in a tile that is short.
  return {tile_start(first),
          last == tiles_ / repeats_ ? sum.period : tile_start(last)};
}

void LoopKernel::begin_sums(Worker& worker, std::int64_t chunk) const noexcept {
  worker.part = chunk / column_chunks_;
  // Zero bytes are 0 in every type that is added up.
  for (const Sum& sum : sums_) {
    if (sum.is_owned) {
      const auto [begin, end] = places_of(sum, chunk);
      std::memset(accumulator_of(worker, sum, begin), 0, bytes_of(end - begin));
    } else {
      std::memset(worker.at(sum.accumulator_offset), 0, bytes_of(sum.width));
    }
  }
}

void LoopKernel::end_sums(Worker& worker, std::int64_t chunk) const noexcept {
  for (const Sum& sum : sums_) {
    if (is_finished_by_chunks(sum)) {
      // The caches have what was just added up.
      const auto [begin, end] = places_of(sum, chunk);
      finish(sum, worker.buffers, begin, end);
    } else if (!sum.is_owned) {
      fold(sum, worker.at(sum.accumulator_offset),
           partial_of(sum, worker.buffers, chunk));
    }
  }
}

// Where a tile is added to a sum: each tile has its part of one that is longer
// than a tile.
void* LoopKernel::accumulator_of(const Worker& worker, const Sum& sum,
                                 std::int64_t start) const noexcept {
  if (sum.is_owned) {
    return element(partial_of(sum, worker.buffers, worker.part), own_,
                   start % sum.period);
  }
  return element(worker.at(sum.accumulator_offset), own_,
                 sum.period > most_ ? start % sum.period : 0);
}

// Asks for the operands of the tile from `start` on, so that they travel while
// the tile before is computed and streamed: the processor's own prefetcher
// follows loads, stands still meanwhile, and stops at the end of each page.
void LoopKernel::prefetch(const Worker& worker,
                          std::int64_t start) const noexcept {
  const std::int64_t size = std::min(tile_, size_ - start);
  for (const Operand& operand : operands_) {
    if (operand.pointer < 0 || operand.access != Access::kFull) continue;
    const std::byte* from = element(
        worker.buffers.inputs[static_cast<std::size_t>(operand.pointer)],
        operand.dtype, start);
    const std::int64_t bytes =
        size * static_cast<std::int64_t>(size_of(operand.dtype));
    // Lines of the cache have 64 bytes on the machines that are compiled for.
    for (std::int64_t at = 0; at < bytes; at += 64) {
      __builtin_prefetch(from + at);
    }
  }
}

// A result that overwrites an operand finds its lines in the cache already.
bool LoopKernel::may_stream(const KernelBuffers& buffers) const noexcept {
  if (!is_streamed_) return false;
  for (const Operand& operand : operands_) {
    if (operand.pointer < 0) continue;
    const void* source =
        buffers.inputs[static_cast<std::size_t>(operand.pointer)];
    for (std::size_t j = 0; j < program_.outputs.size(); ++j) {
      if (buffers.outputs[j] == source) return false;
    }
  }
  return true;
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
      // A constant is either an operand of one element or a number of the
      // program itself.
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
  if (worker.stages) store_streamed(worker, start, size);
}

void LoopKernel::store_streamed(const Worker& worker, std::int64_t start,
                                std::int64_t size) const noexcept {
  for (std::size_t j = 0; j < program_.outputs.size(); ++j) {
    const DType dtype = program_.outputs[j].type.dtype;
    stream_bytes(target_of(worker, j, start),
                 element(worker.buffers.outputs[j], dtype, start),
                 static_cast<std::size_t>(size) * size_of(dtype));
  }
}

// Where a tile of an output is computed.
void* LoopKernel::target_of(const Worker& worker, std::size_t output,
                            std::int64_t start) const noexcept {
  if (worker.stages) {
    return worker.tile_buffer(first_streamed_ + static_cast<int>(output));
  }
  return element(worker.buffers.outputs[output],
                 program_.outputs[output].type.dtype, start);
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
    } else if (operand.access == Access::kColumns) {
      fill_columns(operand, worker.buffers, buffer, start, size);
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
  // A run of a tile takes no memory of the heap. Programs that need more
  // pointers are not compiled.
  std::array<void*, kMostPointers> pointers;
  std::size_t count = 0;
  for (const Operand& operand : operands_) {
    if (operand.buffer >= 0) {
      pointers[count++] = worker.tile_buffer(operand.buffer);
      continue;
    }
    const std::int64_t index = operand.access == Access::kFull ? start
                               : operand.access == Access::kRow
                                   ? place_of(operand, start / row_)
                                   : start % operand.period;
    pointers[count++] = element(
        worker.buffers.inputs[static_cast<std::size_t>(operand.pointer)],
        operand.dtype, index);
  }
  // Pointers stand in the order of the program: operands, outputs, then buffers
  // that pieces of code share.
  const std::size_t outputs = count;
  auto sum = sums_.begin();
  for (std::size_t j = 0; j < program_.outputs.size(); ++j) {
    const auto& output = program_.outputs[j];
    if (output.is_sum) {
      pointers[count++] = accumulator_of(worker, *sum, start);
      ++sum;
    } else {
      pointers[count++] = target_of(worker, j, start);
    }
  }
  for (std::size_t i = 0; i < code_->crossing_buffers(); ++i) {
    pointers[count++] =
        worker.tile_buffer(first_crossing_ + static_cast<int>(i));
  }
  // A tile of a row of odd length may begin anywhere in a line.
  const bool streams = worker.streams && streaming_code_ &&
                       are_whole_lines(pointers.data() + outputs);
  const CompiledLoop& code = streams ? *streaming_code_ : *code_;
  code.run(pointers.data(), size);
}

bool LoopKernel::are_whole_lines(const void* const* outputs) const noexcept {
  return std::all_of(
      outputs, outputs + program_.outputs.size(), [](const void* output) {
        return reinterpret_cast<std::uintptr_t>(output) % 64 == 0;
      });
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
    return target_of(worker, static_cast<std::size_t>(result.output), start);
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
               target_of(worker, j, start), size, program_.type);
  }
  for (const Sum& sum : sums_) {
    accumulate_tile(find(program_.outputs[sum.output].operand),
                    accumulator_of(worker, sum, start), size, program_.type);
  }
}

}  // namespace weft
