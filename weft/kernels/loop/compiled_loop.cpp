#include "weft/kernels/loop/compiled_loop.h"

#include <algorithm>
#include <map>

namespace weft {
namespace {

// The pointers of a piece lie on the stack.
constexpr std::size_t kMostPointers = 64;

bool is_call(const LoopProgram::Instruction& instruction) {
  return instruction.code == Opcode::kCall;
}

// The code of a piece whose crossing inputs are f32, or null.
std::unique_ptr<LoopCode> code_of(const LoopPiece& piece,
                                  std::span<const CodeOperand> inputs,
                                  LoopStores stores) {
  std::vector<CodeOperand> own;
  for (const int value : piece.inputs) {
    const auto index = static_cast<std::size_t>(value);
    own.push_back(index < inputs.size() ? inputs[index]
                                        : CodeOperand{DType::kF32});
  }
  if (own.size() + piece.outputs.size() > kMostPointers) return nullptr;
  return LoopCode::compile(piece.program, own, stores);
}

}  // namespace

std::optional<CompiledLoop> CompiledLoop::compile(
    const LoopProgram& program, std::span<const CodeOperand> inputs,
    LoopStores stores) {
  // A program of calls alone has nothing to compile between them; one without
  // instructions converts what it reads to what it stores.
  const bool has_only_calls =
      !program.instructions.empty() &&
      std::ranges::all_of(program.instructions, is_call);
  if (has_only_calls || !LoopCode::covers(program, inputs)) return std::nullopt;
  LoopParts parts = parts_at_calls(program);
  while (true) {
    const auto pieces = pieces_of(program, parts);
    CompiledLoop loop;
    std::size_t failed = 0;
    if (loop.compile_pieces(pieces, inputs, stores, failed)) {
      loop.assign_pointers(program, pieces);
      return loop;
    }
    // Each half reads less and keeps less.
    std::vector<std::size_t>& part = parts[failed];
    // So this ends: parts only become smaller, down to one instruction.
    if (part.size() < 2) return std::nullopt;
    const auto middle = part.begin() + std::ssize(part) / 2;
    std::vector<std::size_t> second(middle, part.end());
    part.erase(middle, part.end());
    parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(failed) + 1,
                 std::move(second));
  }
}

bool CompiledLoop::compile_pieces(const std::vector<LoopPiece>& pieces,
                                  std::span<const CodeOperand> inputs,
                                  LoopStores stores, std::size_t& failed) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Piece piece;
    if (pieces[i].is_call) {
      const auto& instruction = pieces[i].program.instructions.front();
      piece.function = instruction.function;
      piece.parameters = instruction.parameters;
      piece.operands = instruction.operands;
    } else {
      piece.code = code_of(pieces[i], inputs, stores);
      if (piece.code == nullptr) {
        failed = i;
        return false;
      }
    }
    pieces_.push_back(std::move(piece));
  }
  return true;
}

// A crossing value has a buffer from the piece that computes it to the last one
// that reads it.
void CompiledLoop::assign_pointers(const LoopProgram& program,
                                   const std::vector<LoopPiece>& pieces) {
  outputs_begin_ = program.inputs.size();
  const std::size_t crossing_begin = outputs_begin_ + program.outputs.size();
  std::map<int, std::size_t> last_reader;  // by value
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    for (const int value : pieces[i].inputs) last_reader[value] = i;
  }
  std::map<int, std::size_t> buffer;  // by value
  std::vector<std::size_t> unused;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    for (const int value : pieces[i].inputs) {
      const auto crossing = buffer.find(value);
      pieces_[i].pointers.push_back(crossing == buffer.end()
                                        ? static_cast<std::size_t>(value)
                                        : crossing_begin + crossing->second);
    }
    for (const int output : pieces[i].outputs) {
      if (output >= 0) {
        pieces_[i].pointers.push_back(outputs_begin_ +
                                      static_cast<std::size_t>(output));
        continue;
      }
      // Buffers are used again, so that few of them pass through the
      // first-level cache.
      if (unused.empty()) unused.push_back(crossing_buffers_++);
      buffer[-1 - output] = unused.back();
      pieces_[i].pointers.push_back(crossing_begin + unused.back());
      unused.pop_back();
    }
    // Inputs give their buffers back only now, so that a piece never writes
    // over what it reads.
    for (const int value : pieces[i].inputs) {
      if (buffer.contains(value) && last_reader[value] == i) {
        unused.push_back(buffer[value]);
      }
    }
  }
}

void CompiledLoop::run(void* const* pointers,
                       std::int64_t size) const noexcept {
  std::array<void*, kMostPointers> own;
  for (const Piece& piece : pieces_) {
    for (std::size_t i = 0; i < piece.pointers.size(); ++i) {
      own[i] = pointers[piece.pointers[i]];
    }
    if (piece.code != nullptr) {
      piece.code->run(own.data(), size);
      continue;
    }
    Tile tile{{}, nullptr, size, piece.parameters};
    // A function may be given one value twice, which is one input of the piece.
    for (std::size_t i = 0; i < piece.operands.size(); ++i) {
      tile.x[i] = own[static_cast<std::size_t>(piece.operands[i])];
    }
    tile.y = own[piece.pointers.size() - 1];
    piece.function(tile);
  }
}

bool CompiledLoop::can_overwrite(std::size_t input, std::size_t output) const {
  // Within a piece, all is loaded before anything is stored.
  bool is_stored = false;
  for (const Piece& piece : pieces_) {
    const auto has = [&](std::size_t pointer) {
      return std::find(piece.pointers.begin(), piece.pointers.end(), pointer) !=
             piece.pointers.end();
    };
    if (is_stored && has(input)) return false;
    is_stored = is_stored || has(outputs_begin_ + output);
  }
  return true;
}

}  // namespace weft
