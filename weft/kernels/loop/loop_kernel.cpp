// What a loop kernel settles once for its program: where operands are read,
// what needs a buffer, how the work is cut into tiles and chunks.
#include "weft/kernels/loop/loop_kernel.h"

#include <algorithm>

#include "weft/base/parallel.h"
#include "weft/kernels/loop/tile_places.h"

namespace weft {
namespace {

// What tile functions pass on lies in the 32 KiB of a first-level cache: a
// dozen values of 2 KiB in f32, or the few of a short program in tiles of
// twice that size. Each call begins and ends with a pipeline that is not full,
// which shows beside the few vectors of a tile.
constexpr std::int64_t kFunctionTile = 512;
constexpr std::size_t kFewValues = 4;

// Generated code needs buffers for repeated operands and sums only.
constexpr std::int64_t kCodeTile = 1024;
// Where nothing needs a buffer a tile is but a piece of work: some
// microseconds, beside which what a tile takes to begin is nothing.
constexpr std::int64_t kUnbufferedTile = 8192;
// Shorter rows than this are filled into a buffer, many to a tile.
constexpr std::int64_t kLeastRow = 256;
// Waking a thread costs about as much as this many simple element operations.
constexpr std::int64_t kWorkPerThread = std::int64_t{48} * 1024;

std::int64_t function_tile(const LoopProgram& program) {
  const std::size_t values =
      program.inputs.size() + program.instructions.size();
  return values <= kFewValues ? 2 * kFunctionTile : kFunctionTile;
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

LoopKernel::LoopKernel(LoopProgram program, const LoopOptions& options)
    : program_(without_repeated_rounding(std::move(program))),
      own_(dtype_of(program_.type)) {
  size_ = program_.shape.num_elements();
  // Each step needs those before it: which operands need a buffer depends on
  // whether there is code, and the tile on the largest buffer.
  classify_inputs();
  // Sums are to be the same whatever caches a machine has, and the tile is a
  // part of their order.
  is_streamed_ = !has_sum() && moved_bytes() >= options.streamed_from;
  if (options.may_generate) {
    find_rows();
    generate_code();
  }
  if (!code_) most_ = most_of(function_tile(program_));
  choose_tile();
  assign_input_buffers();
  if (code_) {
    first_crossing_ = buffers_;
    buffers_ += static_cast<int>(code_->crossing_buffers());
  } else {
    assign_result_buffers();
  }
  if (buffers_ == 0 && !is_staged() && !has_sum()) cut_rows(kUnbufferedTile);
  if (is_staged()) {
    first_streamed_ = buffers_;
    buffers_ += static_cast<int>(program_.outputs.size());
  }
  column_chunks_ = tiles_;
  worker_numbers_ = static_cast<std::size_t>(buffers_ * most_);
  if (has_sum()) {
    cut_for_sums();
    place_accumulators();
  }
  choose_workers();
  place_partials();
}

bool LoopKernel::has_sum() const {
  return std::any_of(program_.outputs.begin(), program_.outputs.end(),
                     [](const auto& output) { return output.is_sum; });
}

// What a pass reads and writes in memory, but for sums.
std::uint64_t LoopKernel::moved_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& input : program_.inputs) {
    if (!input.immediate) bytes += input.type.bytes();
  }
  for (const auto& output : program_.outputs) {
    if (!output.is_sum) bytes += output.type.bytes();
  }
  return bytes;
}

// The elements of a tile buffer, where `most` would do. A short loop fills no
// long buffers with what repeats.
std::int64_t LoopKernel::most_of(std::int64_t most) const {
  most = std::min(most, whole_vectors(size_));
  const auto streamed =
      static_cast<std::int64_t>(kStreamedTileBytes / size_of(own_));
  return is_streamed_ ? std::min(most, streamed) : most;
}

// Whether an operand is read where it lies. Tile functions want f32; code
// converts as it loads.
bool LoopKernel::is_direct(const Operand& operand) const {
  const bool is_converted = code_ && !operand.is_read_by_call;
  return (is_converted || operand.dtype == own_) && is_one_run(operand);
}

// Whether what a tile reads of the operand is one run, and each element of it
// is read once, but for the number of a row.
bool LoopKernel::is_one_run(const Operand& operand) const {
  return operand.access == Access::kFull || operand.access == Access::kRow ||
         (operand.access == Access::kPeriodic && operand.period > most_);
}

void LoopKernel::generate_code() {
  // Where a function is called there are buffers between the pieces of code.
  const bool has_calls =
      std::any_of(program_.instructions.begin(), program_.instructions.end(),
                  [](const LoopProgram::Instruction& instruction) {
                    return instruction.code == Opcode::kCall;
                  });
  most_ = most_of(has_calls ? function_tile(program_) : kCodeTile);
  std::vector<CodeOperand> inputs;
  for (const Operand& operand : operands_) {
    // Buffers hold f32, whatever the operand is in memory.
    const bool is_buffered = operand.is_read_by_call || !is_one_run(operand);
    inputs.push_back({is_buffered ? DType::kF32 : operand.dtype,
                      operand.access == Access::kRow});
  }
  code_ = CompiledLoop::compile(program_, inputs);
  if (code_ && can_stream_itself()) {
    streaming_code_ =
        CompiledLoop::compile(program_, inputs, LoopStores::kStreamed);
  }
  // The pointers of a tile lie on the stack.
  if (code_ &&
      operands_.size() + program_.outputs.size() + code_->crossing_buffers() >
          kMostPointers) {
    code_.reset();
    streaming_code_.reset();
  }
  if (code_) return;
  for (Operand& operand : operands_) {
    if (operand.access == Access::kRow) operand.access = Access::kStrided;
  }
}

// Whether code can store results past the caches itself, whole lines at once:
// what crosses between pieces is read again soon, results of other dtypes fill
// a part of a line, and so may rows that do not begin with one.
bool LoopKernel::can_stream_itself() const {
  constexpr Dim kLineNumbers = 64 / sizeof(float);
  const bool has_rows =
      std::ranges::any_of(operands_, [](const Operand& operand) {
        return operand.access != Access::kFull &&
               operand.access != Access::kConstant;
      });
  if (has_rows && program_.shape.back() % kLineNumbers != 0) return false;
  return is_streamed_ && code_->crossing_buffers() == 0 &&
         std::ranges::all_of(program_.outputs, [](const auto& output) {
           return output.type.dtype == DType::kF32;
         });
}

// Tiles that lie within a row begin anywhere but at multiples of a period of
// several rows that is no longer than a tile: with such, nothing is found.
void LoopKernel::find_rows() {
  const Shape& shape = program_.shape;
  const std::int64_t columns = shape.rank() == 0 ? 0 : shape.back();
  if (columns < kLeastRow) return;
  const auto is_in_the_way = [&](std::int64_t period) {
    return period > columns && period <= kCodeTile;
  };
  for (const Operand& operand : operands_) {
    if (is_in_the_way(operand.period)) return;
  }
  for (const auto& output : program_.outputs) {
    if (output.is_sum && is_in_the_way(output.type.shape.num_elements()))
      return;
  }
  const auto last = static_cast<std::size_t>(shape.rank() - 1);
  for (Operand& operand : operands_) {
    if (operand.access == Access::kStrided && operand.strides[last] == 0 &&
        operand.dtype == DType::kF32 && !operand.is_read_by_call) {
      operand.access = Access::kRow;
    }
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
    } else if (!input.columns.empty()) {
      operand.access = Access::kColumns;
      operand.columns = input.columns;
      operand.pointer = pointer;
      pointer += static_cast<int>(input.columns.size());
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
    // Columns are taken of whole rows, or within one.
    if (operand.access == Access::kColumns) note(program_.shape.back());
  }
  const bool has_row = std::any_of(
      operands_.begin(), operands_.end(),
      [](const Operand& each) { return each.access == Access::kRow; });
  for (const auto& output : program_.outputs) {
    if (output.is_sum) note(output.type.shape.num_elements());
  }
  // Periods divide each other, so that the longest of those that fit covers the
  // others.
  // Longer periods are whole rows.
  if (has_row) long_period = program_.shape.back();
  row_ = long_period == 0 ? std::max<std::int64_t>(1, size_) : long_period;
  cut_rows(most_ / short_period * short_period);
}

void LoopKernel::cut_rows(std::int64_t tile) {
  tile_ = tile;
  tiles_per_row_ = ceil_divide(row_, tile_);
  tiles_ = size_ / row_ * tiles_per_row_;
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

void LoopKernel::choose_workers() {
  const auto steps = static_cast<std::int64_t>(program_.instructions.size() +
                                               program_.outputs.size());
  const std::int64_t useful =
      std::max<std::int64_t>(1, size_ * steps / kWorkPerThread);
  // Chunks are handed out to whatever workers there are; their number does not
  // change what is added to what.
  workers_ = std::max<std::int64_t>(
      1, std::min<std::int64_t>({thread_count(), useful, chunks()}));
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

}  // namespace weft
