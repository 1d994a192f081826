// Runs a loop program as one pass over memory: cut into tiles that stay in
// the L1 cache, each run by generated code (compiled_loop.h) or, where there is
// none, through all the instructions by SIMD tile functions.
//
// What lies between the convolutions of a network (bias, batch norm,
// activation, residual, their gradients, the optimizer's update) is made of
// such loops, and is bound by memory bandwidth: one pass instead of many is
// the whole gain.
//
// Sums are deterministic: the work is cut into chunks whose number depends on
// the shape alone, and their partial sums are added in order.
//
// Threads: a LoopKernel runs on one thread at a time, and uses parallel_for.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "weft/graph/kernel.h"
#include "weft/kernels/loop/compiled_loop.h"
#include "weft/kernels/loop/loop_program.h"
#include "weft/kernels/simd/streaming.h"

namespace weft {

struct LoopOptions {
  bool may_generate = true;  // else tile functions run the program
  // Loops without sums that read and write so many bytes or more store past the
  // caches.
  std::uint64_t streamed_from = least_streamed_bytes();
};

class LoopKernel : public PreparedKernel {
 public:
  explicit LoopKernel(LoopProgram program, const LoopOptions& options = {});

  // Buffers: the inputs without an immediate, in order, those that are read
  // side by side one by one; the outputs.
  void run(const KernelBuffers& buffers) noexcept override;
  std::size_t scratch_bytes() const override { return scratch_bytes_; }
  // Whether machine code was generated.
  bool is_generated() const { return code_.has_value(); }

  // Whether output `output` may be written over input `input` (numbered as
  // in the program).
  bool can_overwrite(std::size_t input, std::size_t output) const;

 private:
  // Generated code takes at most this many operands, results and buffers: their
  // addresses lie on the stack.
  static constexpr std::size_t kMostPointers = 64;

  // How an input of the program is found for a tile.
  enum class Access {
    kFull,      // element i of the iteration is element i of the input
    kConstant,  // one value
    kPeriodic,  // element i is element i % period: a suffix of the shape
    kRow,       // a row of the last axis has one value: code alone reads it so
    kStrided,   // any other broadcast
    kColumns,   // columns of one or several values, side by side
  };
  struct Operand {
    Access access = Access::kFull;
    DType dtype = DType::kF32;
    std::int64_t period = 1;
    int buffer = -1;   // tile buffer for converted or repeated values
    int pointer = -1;  // index into KernelBuffers::inputs
    double immediate = 0;
    bool is_read_by_call = false;
    std::array<std::int64_t, Shape::kMaxRank> strides{};
    // What kColumns reads; its pointers are those from `pointer` on.
    std::vector<LoopProgram::Columns> columns;
  };
  struct Result {
    int buffer = -1;  // tile buffer, or
    int output = -1;  // the output that it is written to directly
  };
  struct Sum {
    std::size_t output = 0;
    std::int64_t period = 1;
    // Chunks add to places of their own in the partial sums. Else each adds up
    // in its worker's accumulator, and then has a partial sum to itself.
    bool is_owned = false;
    std::int64_t width = 0;          // what an accumulator holds: whole tiles
    std::size_t partial_offset = 0;  // numbers, in scratch
    std::size_t accumulator_offset = 0;  // numbers, in a worker's part
  };
  struct Worker;

  void classify_inputs();
  void find_rows();
  void generate_code();
  void choose_tile();
  void cut_rows(std::int64_t tile);
  bool has_sum() const;
  std::uint64_t moved_bytes() const;
  std::int64_t most_of(std::int64_t most) const;
  void assign_input_buffers();
  void assign_result_buffers();
  void choose_workers();

  // Sums: loop_sums.cpp.
  void cut_for_sums();
  void place_accumulators();
  void place_partials();
  std::int64_t chunks() const { return column_chunks_ * repeat_chunks_; }
  std::int64_t partials(const Sum& sum) const;
  // A sum that is not cut through the repetitions is whole in each chunk.
  bool is_finished_by_chunks(const Sum& sum) const {
    return sum.is_owned && repeat_chunks_ == 1;
  }
  std::byte* partial_of(const Sum& sum, const KernelBuffers& buffers,
                        std::int64_t number) const noexcept;
  void fold(const Sum& sum, void* accumulator, void* partial) const noexcept;
  void finish(const Sum& sum, const KernelBuffers& buffers, std::int64_t begin,
              std::int64_t end) const noexcept;
  void finish_sums(const KernelBuffers& buffers) const noexcept;

  void run_chunks(const KernelBuffers& buffers, std::int64_t worker) noexcept;
  void run_chunk(Worker& worker, std::int64_t chunk) const noexcept;
  std::pair<std::int64_t, std::int64_t> columns_of(
      std::int64_t chunk) const noexcept;
  std::pair<std::int64_t, std::int64_t> places_of(
      const Sum& sum, std::int64_t chunk) const noexcept;
  void begin_sums(Worker& worker, std::int64_t chunk) const noexcept;
  void end_sums(Worker& worker, std::int64_t chunk) const noexcept;
  void prepare_patterns(Worker& worker) const noexcept;
  bool is_direct(const Operand& operand) const;
  bool is_one_run(const Operand& operand) const;
  bool can_stream_itself() const;
  // Whether streamed results go through buffers.
  bool is_staged() const { return is_streamed_ && !streaming_code_; }
  bool may_stream(const KernelBuffers& buffers) const noexcept;
  bool are_whole_lines(const void* const* outputs) const noexcept;
  void prefetch(const Worker& worker, std::int64_t start) const noexcept;
  void run_tile(Worker& worker, std::int64_t start,
                std::int64_t size) const noexcept;
  void fill_buffers(Worker& worker, std::int64_t start,
                    std::int64_t size) const noexcept;
  void run_code(Worker& worker, std::int64_t start,
                std::int64_t size) const noexcept;
  void run_functions(Worker& worker, std::int64_t start,
                     std::int64_t size) const noexcept;
  std::int64_t place_of(const Operand& operand,
                        std::int64_t row) const noexcept;
  void fill_strided(const Operand& operand, const void* source, std::byte* tile,
                    std::int64_t start, std::int64_t size) const noexcept;
  void fill_columns(const Operand& operand, const KernelBuffers& buffers,
                    std::byte* tile, std::int64_t start,
                    std::int64_t size) const noexcept;
  void store_streamed(const Worker& worker, std::int64_t start,
                      std::int64_t size) const noexcept;
  void* target_of(const Worker& worker, std::size_t output,
                  std::int64_t start) const noexcept;
  void* accumulator_of(const Worker& worker, const Sum& sum,
                       std::int64_t start) const noexcept;
  std::size_t bytes_of(std::int64_t numbers) const {
    return static_cast<std::size_t>(numbers) * size_of(own_);
  }
  std::int64_t tile_start(std::int64_t tile) const;

  LoopProgram program_;
  DType own_;  // of the numbers in tiles
  std::optional<CompiledLoop> code_;
  // The same, whose stores go past the caches.
  std::optional<CompiledLoop> streaming_code_;
  std::int64_t most_ = 0;  // elements that a tile buffer holds
  std::vector<Operand> operands_;
  std::vector<Result> results_;
  std::vector<Sum> sums_;
  std::int64_t size_ = 0;  // elements of the iteration
  std::int64_t row_ = 0;   // tiles do not cross multiples of this
  std::int64_t tile_ = 0;  // elements of a tile
  std::int64_t tiles_per_row_ = 0;
  std::int64_t tiles_ = 0;
  // The loop goes through its tiles as `repeats_` times the same columns, each
  // cut into chunks.
  std::int64_t repeats_ = 1;
  std::int64_t column_chunks_ = 1;
  std::int64_t repeat_chunks_ = 1;
  std::int64_t workers_ = 0;
  int buffers_ = 0;
  int first_crossing_ = 0;  // buffer, of those between pieces of code
  // Where code does not stream them itself, tiles of results lie in buffers,
  // one for each output from first_streamed_ on, before they are streamed.
  bool is_streamed_ = false;
  int first_streamed_ = 0;
  std::size_t worker_numbers_ = 0;
  std::size_t scratch_bytes_ = 0;
};

}  // namespace weft
