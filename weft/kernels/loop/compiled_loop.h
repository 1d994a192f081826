// The machine code of a loop program, piece by piece.
//
// Threads: immutable; run() may be called from many threads at once.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "weft/kernels/loop/loop_code.h"
#include "weft/kernels/loop/pieces.h"

namespace weft {

class CompiledLoop {
 public:
  // `inputs` as LoopCode::covers() wants them; what a call reads must be f32,
  // an element for each. Nothing where code does not cover the program, where
  // all of it are calls, which gain nothing from code around them, or where it
  // is too large.
  static std::optional<CompiledLoop> compile(
      const LoopProgram& program, std::span<const CodeOperand> inputs,
      LoopStores stores = LoopStores::kCached);

  // How many buffers run() wants for values that cross between pieces.
  std::size_t crossing_buffers() const { return crossing_buffers_; }

  // Runs `size` elements. `pointers` are those of the inputs, of the outputs,
  // as LoopCode::run() wants them, and of the crossing buffers, with room for
  // `size` values each.
  void run(void* const* pointers, std::int64_t size) const noexcept;

  // Whether no piece reads the input after output `output` has been stored.
  bool can_overwrite(std::size_t input, std::size_t output) const;

 private:
  struct Piece {
    std::unique_ptr<LoopCode> code;  // null: a call
    TileFunction function = nullptr;
    std::array<double, 2> parameters{};
    std::vector<int> operands;  // of the function, among the piece's inputs
    std::vector<std::size_t> pointers;  // of run()'s, inputs first
  };

  bool compile_pieces(const std::vector<LoopPiece>& pieces,
                      std::span<const CodeOperand> inputs, LoopStores stores,
                      std::size_t& failed);
  void assign_pointers(const LoopProgram& program,
                       const std::vector<LoopPiece>& pieces);

  std::vector<Piece> pieces_;
  std::size_t crossing_buffers_ = 0;
  std::size_t outputs_begin_ = 0;  // among the pointers
};

}  // namespace weft
